//! Tests of WebDAV on the real router and a real farm.
