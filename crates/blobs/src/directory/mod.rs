use crate::provider::*;
use model::*;
use std::path::Path;
#[derive(Clone)]
pub struct Owner(String);
impl Owner {
    pub fn new(s: impl Into<String>) -> Result<Self> {
        Ok(Self(s.into()))
    }
}
#[derive(Default)]
pub struct DirectoryOptions;
pub struct DirectoryProvider;
impl DirectoryProvider {
    pub async fn open(_: &Path, _: &Owner, _: DirectoryOptions) -> Result<Self> {
        Err(Error::invalid("x"))
    }
}
impl Provider for DirectoryProvider {
    fn kind(&self) -> &'static str {
        ""
    }
    fn put_limit(&self) -> u64 {
        0
    }
    fn put(&self, _: Whole) -> Pending<'_, Stored> {
        loop {}
    }
    fn upload(&self, _: Option<u64>) -> Pending<'_, Box<dyn Upload>> {
        loop {}
    }
    fn open(&self, _: Digest, _: u64, _: Option<crate::Locator>) -> Pending<'_, Box<dyn Source>> {
        loop {}
    }
    fn delete(&self, _: Digest) -> Pending<'_, ()> {
        loop {}
    }
    fn enumerate(&self, _: Option<Digest>, _: usize) -> Pending<'_, Page> {
        loop {}
    }
    fn usage(&self) -> Pending<'_, Usage> {
        loop {}
    }
    fn close(&self) -> Pending<'_, ()> {
        loop {}
    }
}
