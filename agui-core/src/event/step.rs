//! Steps: named stretches of a run, matched by name per owner (`LIFE-10`).

event_object! {
    /// Opens a step. The same owner may not open a name twice at a time (`LIFE-10`).
    StepStartedEvent attributable {
        fixed "type" = "STEP_STARTED";
        required {
            /// The step's name.
            step_name "stepName": String,
        }
        optional {}
    }
}

event_object! {
    /// Closes a step that the same owner opened (`LIFE-10`).
    StepFinishedEvent attributable {
        fixed "type" = "STEP_FINISHED";
        required {
            /// The step's name.
            step_name "stepName": String,
        }
        optional {}
    }
}
