//! What a deployment needs: a product's people and habits on the one side, the measured costs of one of each operation
//! on the other, and between them multiplication. `tidefeed plan` prints it.

pub mod layout;
pub mod measured;
pub mod product;

pub use layout::{LAYOUTS, Layout, Needs, Part, Prices, Server, layouts};
pub use measured::Measured;
pub use product::{OutOfRange, Product, Rates, Stock, TableSize, table_sizes};
