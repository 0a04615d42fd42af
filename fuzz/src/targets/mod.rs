//! The targets, one file each. Those of parts above the engines are in folders.

pub(crate) mod host_json;
pub(crate) mod http2;
pub(crate) mod http_chunked;
pub(crate) mod http_codec;
pub(crate) mod http_outgoing;
pub(crate) mod http_response_encode;
pub(crate) mod js_objects;
pub(crate) mod lua_pattern;
pub(crate) mod multipart;
pub(crate) mod project;
pub(crate) mod scripts;
pub(crate) mod serve;
pub(crate) mod template;
pub(crate) mod websocket;
