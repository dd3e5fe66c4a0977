//! Who may do what: the bearer token, the application's own authenticator, and its admission hook.

use std::fmt;
use std::future::{self, Future};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use ::http::header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, ORIGIN};
use ::http::{HeaderMap, Method};
use agui_core::RunAgentInput;
use agui_core::producer::Extensions;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Refusal, RefusalCode, RequestHead};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// An authenticator as it is kept: it gives what it learned about the caller.
pub(crate) type Authenticate =
    Arc<dyn Fn(RequestHead) -> BoxFuture<Result<Extensions, Refusal>> + Send + Sync>;

/// An admission hook as it is kept.
pub(crate) type Admit = Arc<dyn Fn(Admission) -> BoxFuture<Result<(), Refusal>> + Send + Sync>;

/// What the admission hook decides on: a well-formed input and everything known about its sender.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Admission {
    /// What the authenticator and the layers in front of it left, the [`RequestHead`] included.
    pub extensions: Extensions,
    /// The input. Its thread id is a claim of the client's: whether the caller owns the thread is for the hook to
    /// check.
    pub input: Arc<RunAgentInput>,
    /// The agent that was asked for, where the endpoint serves several.
    pub agent: Option<Arc<str>>,
    /// What is asked for.
    pub intent: Intent,
}

/// What a caller wants of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Intent {
    /// To start a run.
    Run,
    /// To read what is recorded, and what comes live.
    Connect,
    /// To stop the run in progress. The input then has the ids that were named and nothing else; its run id is empty if
    /// none was.
    Stop,
}

/// A token that callers have to present, by its digest: two digests are of one length, so that comparing them takes as
/// long whatever is presented. The text itself is not kept. Absent where the configured token is empty.
#[derive(Clone)]
pub(crate) struct BearerToken(Option<[u8; 32]>);

impl BearerToken {
    pub(crate) fn new(token: impl Into<String>) -> Self {
        let token = token.into();
        Self((!token.is_empty()).then(|| digest(token.as_bytes())))
    }

    /// Whether the request presents the token. An empty configured token admits nobody.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, rest)) = value.as_bytes().split_at_checked(b"bearer".len()) else { return false };
        let presented = rest.trim_ascii();
        let well_formed = scheme.eq_ignore_ascii_case(b"bearer") && rest.first() == Some(&b' ');
        // Compared whatever the scheme, so that the time says nothing about the token.
        let presented = digest(presented);
        let equal = self.0.is_some_and(|token| bool::from(presented.ct_eq(&token)));
        well_formed && equal
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

/// Who is let in.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pub(crate) token: Option<BearerToken>,
    pub(crate) authenticate: Option<Authenticate>,
}

impl Gate {
    /// Judges the head before anything else is, and gives what is known about the caller.
    pub(crate) async fn check(&self, head: &RequestHead) -> Result<Extensions, Refusal> {
        // A browser sends no credentials with a preflight; what answers it, if anything, is the CORS layer.
        if is_preflight(head) {
            return Ok(Extensions::new());
        }
        if self.token.as_ref().is_some_and(|token| !token.admits(head.headers())) {
            return Err(Refusal::unauthorized());
        }
        match &self.authenticate {
            Some(authenticate) => guard(|| authenticate(head.clone())).await?,
            None => Ok(Extensions::new()),
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("token", &self.token)
            .field("authenticate", &self.authenticate.is_some())
            .finish()
    }
}

/// Runs a hook of the application's, whose panic is a 500 without its text.
pub(crate) async fn guard<T>(hook: impl FnOnce() -> BoxFuture<T>) -> Result<T, Refusal> {
    let mut future = guard_call(hook)?;
    future::poll_fn(move |cx| match guard_call(|| future.as_mut().poll(cx)) {
        Ok(poll) => poll.map(Ok),
        Err(refusal) => Poll::Ready(Err(refusal)),
    })
    .await
}

/// [`guard`] for a hook that answers at once.
pub(crate) fn guard_call<T>(hook: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(hook)).map_err(|_| {
        tracing::error!("a hook of the endpoint panicked");
        Refusal::new(RefusalCode::InternalError)
    })
}

fn is_preflight(head: &RequestHead) -> bool {
    *head.method() == Method::OPTIONS
        && head.headers().contains_key(ORIGIN)
        && head.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_admits_itself_and_nothing_of_another_length_or_content() {
        let long = "s3cret-".repeat(1_000);
        for configured in ["s", "s3cret", "schl\u{fc}ssel", long.as_str()] {
            let token = BearerToken::new(configured);
            let admits = |presented: &str| {
                let mut headers = HeaderMap::new();
                let value =
                    ::http::HeaderValue::from_bytes(format!("Bearer {presented}").as_bytes()).unwrap();
                headers.insert(AUTHORIZATION, value);
                token.admits(&headers)
            };
            assert!(admits(configured));
            let mut shorter = configured.to_owned();
            shorter.pop();
            for other in ["", "S", &shorter, &format!("{configured}x"), &format!("x{configured}")] {
                assert!(!admits(other), "{other:?} for {configured:?}");
            }
            assert_eq!(format!("{token:?}"), "BearerToken");
        }
    }
}
