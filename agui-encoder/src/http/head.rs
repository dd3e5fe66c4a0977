//! The head of the request that started a run, for its handler and the hooks.

use std::fmt;
use std::sync::Arc;

use ::http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use ::http::{Extensions, HeaderMap, Method, Uri, request};

/// Method, URI, headers and extensions of a request. Cheap to clone.
///
/// Every run carries one among its [extensions](agui_core::Run::extensions). What middleware of the framework attached to
/// the request, such as a user, is found in [`extensions`](Self::extensions).
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd, RunError};
/// use agui_encoder::http::RequestHead;
///
/// async fn agent(run: Run) -> Result<RunEnd, RunError> {
///     let language = run.extensions().get::<RequestHead>().and_then(|head| head.header("accept-language"));
///     run.text(if language == Some("pt") { "Olá" } else { "Hello" }).await?;
///     Ok(RunEnd::success())
/// }
/// # let _ = agent;
/// ```
#[derive(Clone)]
pub struct RequestHead(Arc<Inner>);

struct Inner {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    extensions: Extensions,
}

impl RequestHead {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// The URI as the framework gave it.
    pub fn uri(&self) -> &Uri {
        &self.0.uri
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// The first value of a header, if there is one and it is visible ASCII. The name is matched in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// What layers in front of the endpoint attached to the request.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }
}

#[cfg(feature = "websocket")]
impl RequestHead {
    /// The head as it would be with this bearer token, for whoever judges tokens; nothing if no header can hold it.
    pub(crate) fn with_bearer(&self, token: &str) -> Option<Self> {
        let mut value = ::http::HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        let Inner { method, uri, headers, extensions } = &*self.0;
        let mut headers = headers.clone();
        headers.insert(AUTHORIZATION, value);
        let (method, uri, extensions) = (method.clone(), uri.clone(), extensions.clone());
        Some(Self(Arc::new(Inner { method, uri, headers, extensions })))
    }
}

impl From<&request::Parts> for RequestHead {
    fn from(parts: &request::Parts) -> Self {
        Self(Arc::new(Inner {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            extensions: parts.extensions.clone(),
        }))
    }
}

impl fmt::Debug for RequestHead {
    /// Shows the headers without what is in the ones that carry credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Headers<'a>(&'a HeaderMap);

        impl fmt::Debug for Headers<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut map = f.debug_map();
                for (name, value) in self.0 {
                    if [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE].contains(name) || value.is_sensitive() {
                        map.entry(name, &"hidden");
                    } else {
                        map.entry(name, value);
                    }
                }
                map.finish()
            }
        }

        // The query may carry a token as well.
        f.debug_struct("RequestHead")
            .field("method", &self.0.method)
            .field("path", &self.0.uri.path())
            .field("headers", &Headers(&self.0.headers))
            .finish_non_exhaustive()
    }
}
