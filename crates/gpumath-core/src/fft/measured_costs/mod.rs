//! Tables of what steps cost, one for each GPU that was measured.

mod h100;
mod h200;

use super::costs::CostTable;

pub(super) const TABLES: [&CostTable; 2] = [&h200::TABLE, &h100::TABLE];
