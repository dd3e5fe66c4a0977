//! Where a demo server records its runs.

use agui_core::store::StoreError;

use crate::Settings;

impl Settings {
    /// Opens the store that the settings name. Called once, before servers are made of them.
    ///
    /// # Errors
    /// Redis cannot be reached, the URL is none, or this build has no Redis.
    pub async fn connect(self) -> Result<Self, StoreError> {
        match self.redis.clone() {
            None => Ok(self),
            Some(url) => self.connect_to(&url).await,
        }
    }

    #[cfg(feature = "redis")]
    async fn connect_to(self, url: &str) -> Result<Self, StoreError> {
        let settings = agui_redis::RedisSettings::new(url)
            .map_err(|error| StoreError::new("it is not known where Redis is").with_source(error))?;
        let store = agui_redis::RedisRunStore::connect(settings.with_lease(self.lease)).await?;
        Ok(self.with_store(std::sync::Arc::new(store)))
    }

    #[cfg(not(feature = "redis"))]
    #[expect(clippy::unused_async, reason = "the same as with Redis")]
    async fn connect_to(self, _: &str) -> Result<Self, StoreError> {
        Err(StoreError::new("this build has no Redis; the feature `redis` of agui-demo brings it"))
    }
}
