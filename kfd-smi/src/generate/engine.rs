//! Makes things happen in the order of their times: [`Engine`].

use std::collections::{BTreeSet, VecDeque};
use std::io;

use kfd_smi_proto::Pid;

use super::driver::{Delivered, Delivery, Driver};
use super::kernel::Kernel;
use super::output::Sink;
use super::plan::{Plan, Step, What};
use super::scenario::{Scenario, reset, throttle};
use super::truth::Truth;
use super::world::{Task, World};

/// What is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) seed: u64,
    pub(crate) kernel: Kernel,
    pub(crate) gpus: usize,
    pub(crate) processes: usize,
    pub(crate) limit: Limit,
}

/// When it is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// So many events that the reader got.
    Events(u64),
    /// So many nanoseconds.
    Duration(u64),
    /// At most so many bytes.
    Size(u64),
}

/// The whole machine. It needs the same memory however long it runs.
#[derive(Debug)]
pub(crate) struct Engine {
    world: World,
    driver: Driver,
    /// What processes do, in turns.
    scenarios: Vec<Scenario>,
    actors: Vec<Actor>,
    /// The next step of each actor: when, and whose.
    agenda: BTreeSet<(u64, usize)>,
    deliveries: Vec<Delivery>,
    limit: Limit,
    events: u64,
}

/// Someone who does one thing after the other.
#[derive(Debug)]
struct Actor {
    role: Role,
    steps: VecDeque<Step>,
}

#[derive(Debug)]
enum Role {
    /// One process after the other.
    Process(Option<Life>),
    Reset {
        is_due: bool,
    },
    Throttle,
}

/// A process and what it is about.
#[derive(Debug)]
struct Life {
    task: Task,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begins,
    Rests,
    /// So many operations more of a scenario.
    Works(Scenario, u64),
    Ends,
}

impl Engine {
    pub(crate) fn new(wanted: &Wanted) -> Self {
        let world = World::new(wanted.seed, wanted.kernel, wanted.gpus);
        let driver = Driver::new(wanted.kernel, wanted.gpus);
        let mut scenarios = wanted.scenarios.clone();
        let mut roles = vec![];
        if scenarios.contains(&Scenario::Reset) {
            roles.push(Role::Reset { is_due: false });
        }
        if scenarios.contains(&Scenario::Throttle) {
            roles.push(Role::Throttle);
        }
        scenarios.retain(|scenario| scenario.has_tasks());
        if scenarios.len() > 1 {
            // Its processes do nothing, and others can be evicted as well.
            scenarios.retain(|scenario| *scenario != Scenario::Reset);
        }
        if !scenarios.is_empty() {
            roles.extend((0..wanted.processes).map(|_| Role::Process(None)));
        }
        let actors: Vec<_> = roles.into_iter().map(|role| Actor { role, steps: VecDeque::new() }).collect();
        let agenda = (0..actors.len()).map(|actor| (world.begin, actor)).collect();
        let deliveries = vec![];
        Self { world, driver, scenarios, actors, agenda, deliveries, limit: wanted.limit, events: 0 }
    }

    pub(crate) const fn world(&self) -> &World {
        &self.world
    }

    /// Runs until it is enough.
    pub(crate) fn run(&mut self, sink: &mut Sink<'_>, truth: &mut Truth) -> io::Result<()> {
        let end = match self.limit {
            Limit::Duration(nanos) => self.world.begin.saturating_add(nanos),
            Limit::Events(_) | Limit::Size(_) => u64::MAX,
        };
        while let Some((now, actor)) = self.agenda.pop_first() {
            if now > end {
                break;
            }
            while let Some(due) = self.driver.due().filter(|due| *due <= now) {
                self.driver.read(due, &mut self.deliveries);
                if !self.deliver(sink, truth)? {
                    return Ok(());
                }
            }
            self.step(now, actor);
            if !self.deliver(sink, truth)? {
                return Ok(());
            }
        }
        if let Some(due) = self.driver.due() {
            self.driver.read(due, &mut self.deliveries);
            self.deliver(sink, truth)?;
        }
        truth.lost(self.driver.lost());
        Ok(())
    }

    /// An actor does the next step, or plans what comes then.
    fn step(&mut self, now: u64, actor: usize) {
        match self.actors[actor].steps.pop_front().map(|step| step.what) {
            Some(What::Event(gpu, emission)) => {
                if self.driver.is_short_of_room(gpu, now) {
                    self.driver.read(now, &mut self.deliveries);
                }
                self.driver.insert(gpu, now, emission, &mut self.world.rng);
            }
            Some(What::Gone(pid, tid)) => self.driver.gone(now, pid, tid, &mut self.deliveries),
            Some(What::Away(until)) => self.driver.leave(until),
            Some(What::Pause) | None => {}
        }
        if self.actors[actor].steps.is_empty() {
            self.plan(now, actor);
        }
        self.agenda.insert((self.actors[actor].next(now), actor));
    }

    fn plan(&mut self, now: u64, actor: usize) {
        if let Role::Reset { is_due } = self.actors[actor].role {
            return self.plan_reset(now, actor, is_due);
        }
        let Self { world, actors, scenarios, .. } = self;
        let Actor { role, steps } = &mut actors[actor];
        let mut plan = Plan::new(world, steps, now);
        match role {
            Role::Process(life) => live(life, &mut plan, scenarios),
            Role::Throttle => throttle::operate(&mut plan),
            Role::Reset { .. } => {}
        }
    }

    /// A pause, then a reset, which no process survives.
    fn plan_reset(&mut self, now: u64, actor: usize, is_due: bool) {
        let Self { world, actors, agenda, .. } = self;
        let mut steps = VecDeque::new();
        let mut plan = Plan::new(world, &mut steps, now);
        if is_due {
            let victims = actors.iter().filter_map(Actor::victim);
            reset::reset(&mut plan, &victims.map(|life| life.task.pid).collect::<Vec<_>>());
        }
        let end = plan.now();
        reset::pause(&mut plan);
        actors[actor] = Actor { role: Role::Reset { is_due: true }, steps };
        for (number, victim) in actors.iter_mut().enumerate().filter(|_| is_due) {
            if victim.victim().is_none() {
                continue;
            }
            if let Actor { role: Role::Process(Some(life)), steps } = victim {
                steps.clear();
                die(life, &mut Plan::new(world, steps, end));
            }
            agenda.retain(|(_, other)| *other != number);
            agenda.insert((victim.next(end), number));
        }
    }

    /// Hands over what was read; false if that was enough.
    fn deliver(&mut self, sink: &mut Sink<'_>, truth: &mut Truth) -> io::Result<bool> {
        for Delivery { gpu, arrival, what, .. } in self.deliveries.drain(..) {
            let id = self.world.gpus[gpu].id;
            match what {
                Delivered::Full => sink.full(id)?,
                Delivered::Gone(pid, tid) => truth.gone(id, pid, tid),
                Delivered::Event(inserted) => {
                    let is_enough = match self.limit {
                        Limit::Events(most) => self.events >= most,
                        Limit::Size(most) => sink.size_with(&inserted) > most,
                        Limit::Duration(_) => false,
                    };
                    if is_enough {
                        return Ok(false);
                    }
                    self.events += 1;
                    truth.event(id, &inserted);
                    let actors = &self.actors;
                    sink.event(gpu, id, arrival, &inserted, |pid| task_of(actors, pid))?;
                }
            }
        }
        Ok(match self.limit {
            Limit::Events(most) => self.events < most,
            Limit::Duration(_) | Limit::Size(_) => true,
        })
    }
}

impl Actor {
    /// When it does something next: at once, if that must be planned.
    fn next(&self, now: u64) -> u64 {
        self.steps.front().map_or(now, |step| step.at)
    }

    /// The process that a reset would end.
    const fn victim(&self) -> Option<&Life> {
        match &self.role {
            Role::Process(Some(life)) if !matches!(life.stage, Stage::Begins | Stage::Ends) => Some(life),
            _ => None,
        }
    }
}

/// The process that has this thread, as long as it is there.
fn task_of(actors: &[Actor], pid: Pid) -> Option<&Task> {
    let tasks = actors.iter().filter_map(|actor| match &actor.role {
        Role::Process(Some(life)) => Some(&life.task),
        _ => None,
    });
    tasks.into_iter().find(|task| task.pid == pid || task.tid == pid)
}

/// What a process does next.
fn live(life: &mut Option<Life>, plan: &mut Plan<'_>, scenarios: &[Scenario]) {
    let Some(Life { task, stage }) = life.as_mut().filter(|life| life.stage != Stage::Ends) else {
        let task = plan.world.new_task();
        plan.wait(1_000_000, 50_000_000);
        for gpu in 0..plan.world.gpus.len() {
            plan.process_start(gpu, task.tid, task.comm);
            plan.wait(20_000, 2_000_000);
        }
        plan.pause(1_000, 1_000_000);
        *life = Some(Life { task, stage: Stage::Begins });
        return;
    };
    let survives = match *stage {
        Stage::Works(scenario, left) => {
            *stage = if left > 1 { Stage::Works(scenario, left - 1) } else { Stage::Rests };
            scenario.operate(plan, task)
        }
        Stage::Begins | Stage::Rests | Stage::Ends if task.phases > 0 => {
            task.phases -= 1;
            let scenario = plan.world.rng.pick(scenarios);
            let (least, most) = scenario.operations();
            *stage = Stage::Works(scenario, plan.world.rng.range(least, most));
            // Where several things go on, each has its time; one alone goes on most of the time.
            match scenarios {
                // Now and then a process waits for something else, longer than anything takes that has an end.
                _ if plan.world.rng.once_in(30) => plan.pause(10_000_000_000, 30_000_000_000),
                [_] => plan.pause(1_000_000, 100_000_000),
                _ => plan.pause(50_000_000, 1_500_000_000),
            }
            true
        }
        Stage::Begins | Stage::Rests | Stage::Ends => false,
    };
    if let Some(life) = life.as_mut().filter(|_| !survives) {
        die(life, plan);
    }
}

/// A process exits; the driver notices some time later.
fn die(life: &mut Life, plan: &mut Plan<'_>) {
    let Life { task, stage } = life;
    *stage = Stage::Ends;
    plan.wait(1_000_000, 60_000_000);
    for gpu in 0..plan.world.gpus.len() {
        plan.process_end(gpu, task.tid, task.comm);
        plan.wait(20_000, 500_000);
    }
    plan.gone(task.pid, task.tid);
    plan.pause(5_000_000, 500_000_000);
}
