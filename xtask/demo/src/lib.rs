//! The agents and settings that every AG-UI demo server shares.
