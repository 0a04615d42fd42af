//! The benchmarks: what each measures, and what it tells.

mod db;
mod golua;
mod gust;
mod hello;
mod limit;
mod petclinic;
mod side_by_side;
pub(crate) mod static_files;
mod stream;
mod template;

pub(crate) use db::{DbOptions, db};
pub(crate) use golua::{GoLuaOptions, golua};
pub(crate) use gust::{GustOptions, gust};
pub(crate) use hello::{HelloOptions, hello};
pub(crate) use limit::{LimitOptions, limit};
pub(crate) use petclinic::{PetClinicOptions, petclinic};
pub(crate) use static_files::{StaticOptions, static_files};
pub(crate) use stream::{StreamOptions, stream};
pub(crate) use template::{TemplateOptions, template};
