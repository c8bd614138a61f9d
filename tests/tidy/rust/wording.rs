//! Comparisons with the words of a message: what a syntax tree shows of them, through local variables, too.

use std::collections::HashSet;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Fields, methods and variables that hold what a person reads.
const WORDS: [&str; 3] = ["message", "to_string", "reason_phrase"];
/// Methods that ask what a text says.
const QUESTIONS: [&str; 8] =
    ["contains", "starts_with", "ends_with", "strip_prefix", "strip_suffix", "eq_ignore_ascii_case", "eq", "find"];
/// Methods that hand on the same text.
const SAME_TEXT: [&str; 11] = [
    "as_str",
    "as_ref",
    "as_deref",
    "trim",
    "to_lowercase",
    "to_ascii_lowercase",
    "clone",
    "to_owned",
    "into",
    "unwrap_or_default",
    "chars",
];

/// A comparison with words, and where it stands.
pub struct Wording {
    pub line: usize,
    pub function: String,
    pub what: String,
}

#[derive(Default)]
struct Search {
    function: String,
    /// Local variables that hold words.
    held: HashSet<String>,
    found: Vec<Wording>,
}

/// Every comparison with words in the file.
pub fn read(file: &syn::File) -> Vec<Wording> {
    let mut search = Search::default();
    search.visit_file(file);
    search.found
}

impl Search {
    fn enter(&mut self, signature: &syn::Signature, walk: impl FnOnce(&mut Self)) {
        let function = std::mem::replace(&mut self.function, signature.ident.to_string());
        let held = std::mem::take(&mut self.held);
        walk(self);
        (self.function, self.held) = (function, held);
    }

    fn is_words(&self, expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Path(it) => it.path.get_ident().is_some_and(|name| {
                self.held.contains(&name.to_string()) || WORDS.contains(&name.to_string().as_str())
            }),
            syn::Expr::Field(syn::ExprField { member: syn::Member::Named(name), .. }) => {
                WORDS.contains(&name.to_string().as_str())
            }
            syn::Expr::MethodCall(it) => {
                let name = it.method.to_string();
                let says = WORDS.contains(&name.as_str()) && it.args.is_empty();
                says || (SAME_TEXT.contains(&name.as_str()) && self.is_words(&it.receiver))
            }
            syn::Expr::Macro(it) => it.mac.path.is_ident("format") && it.mac.tokens.to_string().contains("error"),
            syn::Expr::Reference(it) => self.is_words(&it.expr),
            syn::Expr::Paren(it) => self.is_words(&it.expr),
            syn::Expr::Unary(it) => self.is_words(&it.expr),
            _ => false,
        }
    }

    fn found(&mut self, at: proc_macro2::Span, what: &str) {
        let (line, function) = (at.start().line, self.function.clone());
        self.found.push(Wording { line, function, what: what.to_owned() });
    }
}

impl<'ast> Visit<'ast> for Search {
    fn visit_item_fn(&mut self, it: &'ast syn::ItemFn) {
        self.enter(&it.sig, |search| visit::visit_item_fn(search, it));
    }

    fn visit_impl_item_fn(&mut self, it: &'ast syn::ImplItemFn) {
        self.enter(&it.sig, |search| visit::visit_impl_item_fn(search, it));
    }

    fn visit_local(&mut self, it: &'ast syn::Local) {
        visit::visit_local(self, it);
        let holds = it.init.as_ref().is_some_and(|init| self.is_words(&init.expr));
        if let (true, syn::Pat::Ident(name)) = (holds, &it.pat) {
            self.held.insert(name.ident.to_string());
        }
    }

    fn visit_expr_method_call(&mut self, it: &'ast syn::ExprMethodCall) {
        let name = it.method.to_string();
        if QUESTIONS.contains(&name.as_str()) && self.is_words(&it.receiver) {
            self.found(it.method.span(), &format!("`.{name}(..)` on a message"));
        }
        visit::visit_expr_method_call(self, it);
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        let compares = matches!(it.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        if compares && (self.is_words(&it.left) || self.is_words(&it.right)) {
            self.found(it.op.span(), "a message is compared");
        }
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_match(&mut self, it: &'ast syn::ExprMatch) {
        // A plain `message` may be a queue's or a socket's.
        if matches!(*it.expr, syn::Expr::MethodCall(_)) && self.is_words(&it.expr) {
            self.found(it.match_token.span, "`match` on a message");
        }
        visit::visit_expr_match(self, it);
    }
}
