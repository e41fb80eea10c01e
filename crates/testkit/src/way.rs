//! The ways in which a command is run in a sandbox: what holds in one must hold in all.

use crate::scene::Scene;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    OneShot,
    Terminal,
    SessionExec,
    SessionBackground,
    SessionAttach,
    /// By a script of `exec-code`.
    Script,
    /// One shot, with the best effort, where the machine refuses namespaces.
    WithoutNamespaces,
    /// By the tool that others build on, for reference.
    Bubblewrap,
}

impl Way {
    /// What a sandbox with all its walls has besides the first.
    pub const OTHERS: [Self; 5] =
        [Self::Terminal, Self::SessionExec, Self::SessionBackground, Self::SessionAttach, Self::Script];

    fn has_session(self) -> bool {
        matches!(self, Self::SessionExec | Self::SessionBackground | Self::SessionAttach)
    }
}

const SESSION: &str = "attacked";
/// The flags of `bwrap` that come nearest to what `run` does by itself; the workspace and the command follow.
const NEAREST: &str = "--unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL --hostname sandbox \
    --ro-bind /usr /usr --ro-bind /etc /etc --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib \
    --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp";
/// A process in a user namespace whose own limit is none cannot make another.
const NO_MORE: &str = r#"echo 0 >/proc/sys/user/max_user_namespaces; exec "$@""#;

/// Commands that are run in one scene and in one way.
#[derive(Debug)]
pub struct Running<'a> {
    scene: &'a Scene,
    way: Way,
}

impl<'a> Running<'a> {
    /// # Panics
    ///
    /// When there can be no session.
    pub fn begin(scene: &'a Scene, way: Way) -> Self {
        let running = Self { scene, way };
        if way.has_session() {
            running.call(&["session", "new", "--name", SESSION], &[]).expect_status(0);
        }
        running
    }

    /// Runs a command to its end and gives all that it has printed, on either stream.
    pub fn run(&self, command: &[String]) -> String {
        match self.way {
            Way::OneShot => self.printed(&["run", "--"], command),
            Way::Terminal => self.on_terminal(&["run", "-t", "--"], command),
            Way::SessionExec => self.printed(&["session", "exec", SESSION, "--"], command),
            Way::SessionAttach => self.on_terminal(&["session", "attach", SESSION, "--"], command),
            Way::SessionBackground => {
                let words = ["session", "exec", SESSION, "--background", "--"];
                let number = self.call(&words, command).expect_status(0).stdout();
                self.printed(&["session", "logs", SESSION, number.trim(), "--follow"], &[])
            }
            Way::Script => {
                let script = self.scene.write_script(command);
                let outcome = self.call(&["exec-code", "--language", "bash", &script], &[]);
                let result: serde_json::Value = serde_json::from_str(&outcome.stdout()).unwrap_or_default();
                let said = |stream: &str| result[stream].as_str().unwrap_or_default().to_owned();
                said("output") + &said("stderr") + &outcome.stderr()
            }
            Way::WithoutNamespaces => {
                let before = ["/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c", NO_MORE, "sh"];
                let words = self.words(&["run", "--isolation", "best-effort", "--"], command);
                let all: Vec<String> = before.iter().map(|word| (*word).to_owned()).chain(words).collect();
                self.launched(&all)
            }
            Way::Bubblewrap => {
                let workspace = self.scene.workspace().display().to_string();
                let place =
                    ["--bind", &workspace, &workspace, "--chdir", &workspace, "--"].map(str::to_owned);
                let flags = ["bwrap"].into_iter().chain(NEAREST.split_whitespace()).map(str::to_owned);
                self.launched(&flags.chain(place).chain(command.iter().cloned()).collect::<Vec<_>>())
            }
        }
    }

    fn launched(&self, command: &[String]) -> String {
        let outcome = self.scene.launch(command);
        outcome.stdout() + &outcome.stderr()
    }

    fn words(&self, words: &[&str], command: &[String]) -> Vec<String> {
        let mut all = vec![self.scene.cofferdam()];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        all.extend(command.iter().cloned());
        all
    }

    fn call(&self, words: &[&str], command: &[String]) -> crate::Outcome {
        self.scene.launch(&self.words(words, command))
    }

    fn printed(&self, words: &[&str], command: &[String]) -> String {
        self.launched(&self.words(words, command))
    }

    fn on_terminal(&self, words: &[&str], command: &[String]) -> String {
        self.scene.launch_on_terminal(&self.words(words, command)).end().1
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.way.has_session() {
            self.call(&["session", "kill", SESSION], &[]);
        }
    }
}
