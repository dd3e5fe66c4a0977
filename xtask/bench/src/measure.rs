//! Measuring by ratio.
//!
//! What is measured is a ratio: of the library to the least that could do the same work (a floor), or of one size to
//! another. Both sides are measured in turn within a round, the ratio is taken within the round, and the median over the
//! rounds counts. A change of the machine's speed between two rounds is then no difference between two ways.
//!
//! Time moves with the machine's load even so; instructions do not. The same cases run under callgrind, which collects
//! inside [`collected`] alone and writes down what it has at every [`written_down`].

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One side of a comparison: does its work once and has the part that counts measured.
pub(crate) type Side = Box<dyn FnMut(&mut Meter)>;

/// Adds up the time of the parts that count.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    spent: Duration,
}

impl Meter {
    /// Does a part that counts.
    pub(crate) fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (mut work, mut result) = (Some(work), None);
        let start = Instant::now();
        collected(&mut || result = work.take().map(|work| work()));
        self.spent += start.elapsed();
        result.expect("the work was done")
    }
}

/// Where callgrind collects. The name is what the command line of callgrind knows.
#[inline(never)]
fn collected(work: &mut dyn FnMut()) {
    work();
    // Keeps the call above from becoming a jump, which would hide the return from callgrind.
    black_box(());
}

/// Where callgrind writes down, and forgets, what it has collected.
#[inline(never)]
pub(crate) fn written_down() {
    black_box(0_u8);
}

/// A side that is measured whole.
pub(crate) fn whole(mut work: impl FnMut() + 'static) -> Side {
    Box::new(move |meter| meter.run(&mut work))
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Over how many rounds a median is taken.
    pub(crate) rounds: usize,
    /// How long one measurement of one side lasts at least.
    pub(crate) sample: Duration,
}

impl Effort {
    /// Enough to judge by.
    pub(crate) const FULL: Self = Self { rounds: 11, sample: Duration::from_millis(30) };
    /// Enough to see where things stand.
    pub(crate) const QUICK: Self = Self { rounds: 5, sample: Duration::from_millis(6) };

    /// Nanoseconds of doing a side's work once, over as many times as a measurement needs.
    pub(crate) fn time(self, side: &mut Side) -> f64 {
        let mut meter = Meter::default();
        let mut times = 0_u32;
        while meter.spent < self.sample {
            side(&mut meter);
            times += 1;
        }
        meter.spent.as_secs_f64() * 1e9 / f64::from(times)
    }
}

/// What two sides came to, in one unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) floor: f64,
    pub(crate) ours: f64,
    /// The median of the rounds' ratios.
    pub(crate) ratio: f64,
}

impl Compared {
    /// Of what was measured round by round.
    pub(crate) fn of(rounds: &[(f64, f64)]) -> Self {
        let each = |of: fn(&(f64, f64)) -> f64| median(rounds.iter().map(of).collect());
        Self {
            floor: each(|round| round.0),
            ours: each(|round| round.1),
            ratio: each(|round| round.1 / round.0),
        }
    }
}

/// The median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A number of things as a divisor.
pub(crate) fn count(things: usize) -> f64 {
    f64::from(u32::try_from(things).expect("workloads are small"))
}
