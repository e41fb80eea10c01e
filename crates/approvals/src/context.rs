//! Where a command would run.

/// The place that a command is judged for. A value, handed in by whoever asks: the gate looks nothing up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The working directory, absolute.
    pub directory: String,
    /// The directory that the work is about; deleting a build directory in it is ordinary.
    pub project: String,
    /// The home directory, absolute.
    pub home: String,
    /// The name of the user.
    pub user: String,
}

impl Context {
    /// A context in which the working directory is the project.
    pub fn new(directory: impl Into<String>, home: impl Into<String>, user: impl Into<String>) -> Self {
        let directory = directory.into();
        Self { project: directory.clone(), directory, home: home.into(), user: user.into() }
    }
}
