//! Token counts (`LIFE-12`).

protocol_object! {
    /// What one model of one provider was used for in a run.
    ///
    /// Input and output counts are totals; cached, cache-write and reasoning counts are parts of them. Absent is not zero.
    /// Every count is an integer from 0 to 2^53 − 1 (`SHAPE-3`).
    #[derive(Default, Eq)]
    TokenUsage {
        required {}
        optional {
            /// The vendor, in lower case.
            provider/with_provider "provider": String,
            /// The model.
            model/with_model "model": String,
            /// All tokens that went in, cached ones included.
            input_tokens/with_input_tokens "inputTokens": u64,
            /// All tokens that came out, reasoning included.
            output_tokens/with_output_tokens "outputTokens": u64,
            /// Input and output together.
            total_tokens/with_total_tokens "totalTokens": u64,
            /// Output tokens spent on reasoning.
            reasoning_tokens/with_reasoning_tokens "reasoningTokens": u64,
            /// Input tokens read from a cache.
            cached_input_tokens/with_cached_input_tokens "cachedInputTokens": u64,
            /// Input tokens written to a cache; disjoint from those read.
            cache_write_input_tokens/with_cache_write_input_tokens "cacheWriteInputTokens": u64,
        }
    }
}

impl TokenUsage {
    /// Adds the counts of another use of the same model. A count absent on both sides stays absent.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
            (&mut self.total_tokens, other.total_tokens),
            (&mut self.reasoning_tokens, other.reasoning_tokens),
            (&mut self.cached_input_tokens, other.cached_input_tokens),
            (&mut self.cache_write_input_tokens, other.cache_write_input_tokens),
        ] {
            if let Some(count) = count {
                let limit = crate::shape::MAX_SAFE_INTEGER.unsigned_abs();
                *sum = Some(sum.unwrap_or(0).saturating_add(count).min(limit));
            }
        }
    }

    /// Every count, in the order of the members.
    pub(crate) const fn counts(&self) -> [Option<u64>; 6] {
        [
            self.input_tokens,
            self.output_tokens,
            self.total_tokens,
            self.reasoning_tokens,
            self.cached_input_tokens,
            self.cache_write_input_tokens,
        ]
    }

    /// Adds a use to a list that has one entry per provider and model (`LIFE-12`).
    ///
    /// # Examples
    /// ```
    /// # use agui_core::TokenUsage;
    /// let mut usage = Vec::new();
    /// for input in [3, 4] {
    ///     TokenUsage::aggregate(&mut usage, TokenUsage::default().with_model("m").with_input_tokens(input as u64));
    /// }
    /// assert_eq!(usage, [TokenUsage::default().with_model("m").with_input_tokens(7u64)]);
    /// ```
    pub fn aggregate(list: &mut Vec<Self>, usage: Self) {
        let Self { provider, model, .. } = &usage;
        if let Some(entry) =
            list.iter_mut().find(|entry| entry.provider == *provider && entry.model == *model)
        {
            entry.add(&usage);
            return;
        }
        // Through `add`, which keeps the counts in range.
        let mut entry = Self::default();
        entry.add(&usage);
        list.push(Self { provider: usage.provider, model: usage.model, ..entry });
    }
}
