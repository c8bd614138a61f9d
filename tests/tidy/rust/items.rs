//! Functions, names and the extent of test code, out of the syntax tree.

use std::ops::RangeInclusive;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A function with a body.
pub struct Function {
    pub name: String,
    pub line: usize,
    /// Lines that are neither blank nor comment, from its signature to its closing brace.
    pub length: usize,
    /// Whether it carries `#[test]`, `#[tokio::test]` or the like.
    pub is_test: bool,
}

/// A module or a type.
pub struct Name {
    pub name: String,
    pub line: usize,
}

/// What a walk over the syntax tree gathers.
#[derive(Default)]
pub struct Items {
    pub functions: Vec<Function>,
    pub names: Vec<Name>,
    pub test_code: Vec<RangeInclusive<usize>>,
    pub error_texts: Vec<(usize, String)>,
    code_lines: Vec<usize>,
}

/// Walks the file.
pub fn read(file: &syn::File, text: &str) -> Items {
    let mut items = Items { code_lines: code_lines(text).collect(), ..Items::default() };
    if is_test_only(&file.attrs) {
        items.test_code.push(1..=usize::MAX);
    }
    items.visit_file(file);
    items
}

/// The numbers of the lines that are neither blank nor comment.
pub fn code_lines(text: &str) -> impl Iterator<Item = usize> {
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().enumerate().filter(move |(_, line)| is_code(line)).map(|(index, _)| index + 1)
}

impl Items {
    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, body: &syn::Block) {
        let extent = signature.span().start().line..=body.span().end().line;
        let length = self.code_lines.iter().filter(|line| extent.contains(line)).count();
        let is_test = attributes.iter().any(|a| a.path().segments.last().is_some_and(|last| last.ident == "test"));
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line: signature.ident.span().start().line,
            length,
            is_test,
        });
    }

    fn name(&mut self, ident: &syn::Ident) {
        self.names.push(Name { name: ident.to_string(), line: ident.span().start().line });
    }

    fn test_only(&mut self, attributes: &[syn::Attribute], item: &impl syn::spanned::Spanned) {
        if is_test_only(attributes) {
            self.test_code.push(item.span().start().line..=item.span().end().line);
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    let is_test =
        |a: &syn::Attribute| a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|i| i == "test");
    attributes.iter().any(is_test)
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(module) => {
                self.name(&module.ident);
                self.test_only(&module.attrs, item);
            }
            syn::Item::Struct(it) => self.name(&it.ident),
            syn::Item::Enum(it) => self.name(&it.ident),
            syn::Item::Trait(it) => self.name(&it.ident),
            syn::Item::Type(it) => self.name(&it.ident),
            syn::Item::Fn(it) => self.test_only(&it.attrs, item),
            syn::Item::Use(it) => self.test_only(&it.attrs, item),
            syn::Item::Impl(it) => self.test_only(&it.attrs, item),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_attribute(&mut self, it: &'ast syn::Attribute) {
        if let (true, syn::Meta::List(list)) = (it.path().is_ident("error"), &it.meta) {
            let first = list.tokens.clone().into_iter().next();
            let text = first.and_then(|token| syn::parse2::<syn::LitStr>(token.into()).ok());
            self.error_texts.extend(text.map(|text| (text.span().start().line, text.value())));
        }
    }

    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.function(&it.attrs, &it.sig, &it.block);
        visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.function(&it.attrs, &it.sig, &it.block);
        visit::visit_impl_item_fn(self, it);
    }

    fn visit_trait_item_fn(&mut self, it: &'ast syn::TraitItemFn) {
        if let Some(body) = &it.default {
            self.function(&it.attrs, &it.sig, body);
        }
        visit::visit_trait_item_fn(self, it);
    }
}
