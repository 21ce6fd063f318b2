//! The subcommands, a file each.

pub(crate) mod check;
pub(crate) mod generate;
pub(crate) mod gpus;
pub(crate) mod monitor;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod stat;
