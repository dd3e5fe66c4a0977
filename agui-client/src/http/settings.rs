//! The settings that everything behind HTTP has, declared once.

/// Declares the settings of a type that has a field `dialer`.
///
/// `http_settings!(HttpAgent);` gives `HttpAgent` the methods `with_client`, `with_header`, `with_bearer_token`,
/// `with_max_frame_bytes`, `with_peer` and `with_protobuf`.
macro_rules! http_settings {
    ($type:ident) => {
        impl $type {
            /// Dials through a client of the application's own: one with TLS, a proxy, timeouts, a shared pool.
            ///
            /// The one that is used otherwise follows no redirects. A client that follows them may send the input to
            /// another address; a timeout over the whole request cuts long runs off.
            #[must_use]
            pub fn with_client(mut self, client: reqwest::Client) -> Self {
                self.dialer.client = client;
                self
            }

            /// Sends a header with every request, in place of one of the same name. `accept` and `content-type` are not the
            /// application's to set.
            #[must_use]
            pub fn with_header(mut self, name: http::HeaderName, value: http::HeaderValue) -> Self {
                self.dialer.headers.insert(name, value);
                self
            }

            /// Sends a bearer token with every request. It stays out of `Debug`.
            ///
            /// # Errors
            /// The token holds what no header may, such as a line break.
            pub fn with_bearer_token(mut self, token: impl AsRef<str>) -> Result<Self, $crate::DialError> {
                self.dialer.set_bearer_token(token.as_ref())?;
                Ok(self)
            }

            /// Sets the most bytes that one event may have on the wire; 10 MiB by default.
            #[must_use]
            pub fn with_max_frame_bytes(mut self, max_frame_bytes: usize) -> Self {
                self.dialer.max_frame_bytes = max_frame_bytes;
                self
            }

            /// Says what is known of the producer: inputs declare no version to one from before 1.0 (`VER-1`).
            #[must_use]
            pub fn with_peer(mut self, peer: agui_core::consumer::prepare::Peer) -> Self {
                self.dialer.peer = peer;
                self
            }

            /// Sets whether the binary wire is offered beside SSE; it is by default, in a build that reads it (`BIND-3`).
            #[cfg(feature = "protobuf")]
            #[must_use]
            pub fn with_protobuf(mut self, protobuf: bool) -> Self {
                self.dialer.protobuf = protobuf;
                self
            }
        }
    };
}
