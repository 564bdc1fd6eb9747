//! The binary: reads the configuration and wires the rooms, one file per subcommand.

fn main() {}
