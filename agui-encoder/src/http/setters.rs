//! The settings that every surface has, as methods of each: one text, so that they mean the same everywhere.

/// The setters of a type that has `fn settings(self, set: impl FnOnce(&mut Settings)) -> Self`.
macro_rules! setters {
    () => {
        /// Sets how many bytes a request's body may have, inclusive; 8 MiB by default.
        pub fn with_max_body_bytes(self, bytes: usize) -> Self {
            self.settings(|settings| settings.max_body_bytes = bytes)
        }

        /// Sets how many bytes `threadId` and `runId` may have, inclusive; 1,024 by default. A longer one is a 400. Both are
        /// kept as long as the thread is.
        pub fn with_max_id_bytes(self, bytes: usize) -> Self {
            self.settings(|settings| settings.max_id_bytes = bytes)
        }

        /// Sets after how much silence a comment goes out on SSE; 15 s by default. The binary wire has none. Zero and `None` turn it off.
        pub fn with_keep_alive(self, interval: impl Into<Option<std::time::Duration>>) -> Self {
            // Longer than any run; a clock cannot be asked for just any time.
            const MAX: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 60 * 60);
            let interval =
                interval.into().filter(|interval| !interval.is_zero()).map(|interval| interval.min(MAX));
            self.settings(|settings| settings.keep_alive = interval)
        }

        /// Sets what wildcards in `Accept` admit.
        pub fn with_wildcards(self, wildcards: $crate::Wildcards) -> Self {
            self.settings(|settings| settings.wildcards = wildcards)
        }

        /// Sets whether the binary wire answers where `Accept` admits it; it does by default. Without the feature
        /// `protobuf` the answer is SSE in any case.
        ///
        /// # Examples
        /// ```
        /// use agui_core::{Run, RunEnd};
        /// use agui_encoder::http::Endpoint;
        ///
        /// let endpoint = Endpoint::new(|_: Run| async { Ok(RunEnd::success()) }).with_protobuf(false);
        /// # let _ = endpoint;
        /// ```
        pub fn with_protobuf(self, protobuf: bool) -> Self {
            self.settings(|settings| settings.protobuf = protobuf)
        }

        /// Asks every caller for this bearer token; an empty one admits nobody. What is compared, in constant time, are
        /// SHA-256 digests: how long a refusal takes depends on what was presented, and says nothing about the token,
        /// its length included. The token itself is not kept.
        pub fn with_bearer_token(self, token: impl Into<String>) -> Self {
            let token = $crate::http::authenticate::BearerToken::new(token);
            self.settings(|settings| settings.gate.token = Some(token))
        }

        /// Asks this function who calls, before anything else is judged. What it returns is found among the run's
        /// [extensions](agui_core::Run::extensions); a refusal is the answer.
        ///
        /// # Examples
        /// ```
        /// use agui_core::{Run, RunEnd};
        /// use agui_encoder::http::{Endpoint, Refusal, RequestHead};
        ///
        /// struct User(String);
        ///
        /// let endpoint = Endpoint::new(|run: Run| async move {
        ///     let name = run.extensions().get::<User>().map(|user| user.0.clone()).unwrap_or_default();
        ///     run.text(format!("Hello {name}")).await?;
        ///     Ok(RunEnd::success())
        /// })
        /// .with_authenticator(|head: RequestHead| async move {
        ///     // Look the session up here.
        ///     head.header("x-session").map(|session| User(session.to_owned())).ok_or_else(Refusal::unauthorized)
        /// });
        /// # let _ = endpoint;
        /// ```
        pub fn with_authenticator<F, Fut, T>(self, authenticate: F) -> Self
        where
            F: Fn($crate::http::RequestHead) -> Fut + Send + Sync + 'static,
            Fut: std::future::Future<Output = Result<T, $crate::http::Refusal>> + Send + 'static,
            T: Send + Sync + 'static,
        {
            self.settings(|settings| {
                settings.gate.authenticate = Some(std::sync::Arc::new(move |head| {
                    let identity = authenticate(head);
                    Box::pin(async move {
                        let mut extensions = agui_core::producer::Extensions::new();
                        extensions.insert(identity.await?);
                        Ok(extensions)
                    })
                }));
            })
        }

        /// Asks this function whether a well-formed run may start, with everything known about it. The thread id is a claim
        /// of the client's: whose thread it is has to be checked here.
        ///
        /// # Examples
        /// ```
        /// use agui_core::{Run, RunEnd};
        /// use agui_encoder::http::{Admission, Endpoint, Refusal};
        ///
        /// let endpoint = Endpoint::new(|_: Run| async { Ok(RunEnd::success()) }).with_admission(|asked: Admission| async move {
        ///     if asked.input.thread_id.as_str().starts_with("ada/") {
        ///         Ok(())
        ///     } else {
        ///         Err(Refusal::forbidden("The thread belongs to somebody else."))
        ///     }
        /// });
        /// # let _ = endpoint;
        /// ```
        pub fn with_admission<F, Fut>(self, admit: F) -> Self
        where
            F: Fn($crate::http::Admission) -> Fut + Send + Sync + 'static,
            Fut: std::future::Future<Output = Result<(), $crate::http::Refusal>> + Send + 'static,
        {
            self.settings(|settings| {
                settings.admit = Some(std::sync::Arc::new(move |asked| Box::pin(admit(asked))))
            })
        }

        /// Makes up the ids a client left out: `runId`, `threadId` and those of messages. Off by default, where a missing
        /// one is a 400.
        pub fn with_generated_ids(self, generate: bool) -> Self {
            self.settings(|settings| settings.generate_ids = generate)
        }

        /// Sets how much one run may hold.
        pub fn with_run_limits(self, limits: agui_core::producer::RunLimits) -> Self {
            self.settings(|settings| settings.limits = limits)
        }

        /// Sets how long a run may take before it ends with `RUN_ERROR` with the code `timeout`; forever by default.
        pub fn with_run_timeout(self, timeout: impl Into<Option<std::time::Duration>>) -> Self {
            let timeout = timeout.into();
            self.settings(|settings| settings.drive.timeout = timeout)
        }

        /// Sets how many runs may be in progress at once; one more is a 503, or a 409 if its thread is busy. Without bound
        /// by default.
        pub fn with_max_runs(self, runs: impl Into<Option<usize>>) -> Self {
            let runs = runs.into();
            self.settings(|settings| settings.max_runs = runs)
        }

        /// Sets how many runs one caller may have in progress; one more is a 429, or a 409 if its thread is busy. `identity_of` says who the caller is, from
        /// what the authenticator and the layers in front left; `None` counts for nobody.
        pub fn with_max_runs_per_identity<F>(self, runs: usize, identity_of: F) -> Self
        where
            F: Fn(&agui_core::producer::Extensions) -> Option<String> + Send + Sync + 'static,
        {
            self.settings(|settings| {
                settings.max_runs_per_identity = Some((runs, std::sync::Arc::new(identity_of)))
            })
        }

        /// Sets how long a handler may go on after its run was stopped; 2 s by default.
        pub fn with_stop_grace(self, grace: std::time::Duration) -> Self {
            self.settings(|settings| settings.drive.stop_grace = grace)
        }

        /// Tells this function of every run that fails, with the full error that the client does not see. The error goes to
        /// `tracing` as well.
        pub fn with_error_hook<F>(self, hook: F) -> Self
        where
            F: Fn(&agui_core::RunError, &$crate::http::RunInfo) + Send + Sync + 'static,
        {
            self.settings(|settings| settings.drive.on_error = Some(std::sync::Arc::new(hook)))
        }
    };
}

pub(crate) use setters;
