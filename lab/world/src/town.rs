//! The town: every domain, its mail hosts and machines.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use rand::{Rng as _, rngs::StdRng};
use rcpt_shared::Address;

use crate::{
    desk,
    inhabitants::{
        broken::{Broken, Fault},
        gateway::{Blocklist, Gateway},
        google::Google,
        microsoft::Microsoft,
        postscreen::Postscreen,
        shared_hosting::SharedHosting,
        small::{Habit, Small},
        yahoo::Yahoo,
    },
    internet::{Machine, Reach},
    names::{Names, Zone},
    plan::Plan,
    server::{Behaviour, Server},
};

/// Numbers of domains of each kind; Google has 60 % of all domains.
const GOOGLE: usize = 1_080;
const RULES: usize = 20;
const MICROSOFT: usize = 150;
const GATEWAY: usize = 30;
const POSTSCREEN: usize = 30;
const SHARED: usize = 400;
/// Domains of these at a second, strict machine.
const STRICT: usize = 40;
/// Domains with a backup host; the first host of every third is parked.
const BACKUP: usize = 12;
const SMALL: usize = 60;
const BROKEN: usize = 27;

/// Share of each kind of domain in all questions, in percent.
const TRAFFIC: [(&str, u32); 8] = [
    ("google", 46),
    ("microsoft", 20),
    ("yahoo", 7),
    ("gateway", 8),
    ("postscreen", 3),
    ("shared_hosting", 7),
    ("small", 8),
    ("broken", 1),
];

/// All machines, names, and domains by kind.
pub struct Town {
    pub machines: Arc<HashMap<IpAddr, Machine>>,
    pub names: Arc<Names>,
    pub domains: HashMap<&'static str, Vec<String>>,
}

#[derive(Default)]
struct Builder {
    machines: HashMap<IpAddr, Machine>,
    names: Names,
    domains: HashMap<&'static str, Vec<String>>,
    /// Number of networks assigned to hosts of a single domain.
    networks: u16,
}

const fn ip(network: u16, host: u8) -> IpAddr {
    let [a, b] = network.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(198, 18 + a, b, host))
}

impl Builder {
    fn domain(&mut self, kind: &'static str, name: &str, mx: &[(u16, &str)]) {
        let mx = mx.iter().map(|(preference, host)| (*preference, Arc::from(*host))).collect();
        self.names.zones.insert(name.to_owned(), Zone { mx, is_lame: false });
        self.domains.entry(kind).or_default().push(name.to_owned());
    }

    fn machine(&mut self, host: &str, ip: IpAddr, server: &Arc<Server>, reach: Reach) {
        self.names.hosts.insert(Arc::from(host), vec![ip]);
        self.machines.insert(ip, Machine { server: server.clone(), reach, hung: None });
    }

    fn own_host(
        &mut self,
        kind: &'static str,
        name: &str,
        round_trip_ms: u64,
        behaviour: impl Behaviour + 'static,
    ) {
        self.networks += 1;
        let host = format!("mx.{name}");
        let server = Server::new(kind, None, round_trip_ms, behaviour);
        self.machine(&host, ip(100 + self.networks, 25), &server, Reach::Answers);
        self.domain(kind, name, &[(10, &host)]);
    }

    fn google(&mut self, plan: &Plan) {
        let behaviour = Google::new(plan.leniency.google, new_sources(plan));
        let server = Server::new(Google::KIND, Some("google"), 20, behaviour);
        let names = ["aspmx", "alt1.aspmx", "alt2.aspmx", "alt3.aspmx", "alt4.aspmx"];
        let hosts = names.map(|name| format!("{name}.l.google.com"));
        for (host, number) in hosts.iter().zip(1..) {
            self.machine(host, ip(1, number), &server, Reach::Answers);
        }
        let hung = plan.events.hung.map(|(from, lasts)| (from, from + lasts));
        self.machines.values_mut().for_each(|machine| machine.hung = hung);
        let mx: Vec<(u16, &str)> =
            [1, 5, 5, 10, 10].into_iter().zip(hosts.iter().map(String::as_str)).collect();
        for number in 0..GOOGLE {
            self.domain("google", &format!("town-g{number}.net"), &mx);
        }
        for number in 0..RULES {
            self.domain("google", &format!("rules{number}.net"), &mx);
        }
        self.domain("google", "gmail.com", &mx);
    }

    fn microsoft(&mut self, plan: &Plan) {
        let behaviour = Microsoft::new(plan.leniency.microsoft);
        let server = Server::new(Microsoft::KIND, Some("microsoft"), 25, behaviour);
        for number in 0..MICROSOFT {
            let name = format!("town-m{number}.net");
            let host = format!("town-m{number}-net.mail.protection.outlook.com");
            let machine = ip(2, 1 + (number % 40) as u8);
            self.machine(&host, machine, &server, Reach::Answers);
            self.domain("microsoft", &name, &[(0, &host)]);
        }
        let host = "outlook-com.olc.protection.outlook.com";
        self.machine(host, ip(2, 200), &server, Reach::Answers);
        self.domain("microsoft", "outlook.com", &[(2, host)]);
    }

    fn yahoo(&mut self, plan: &Plan) {
        let server = Server::new(Yahoo::KIND, Some("yahoo"), 45, Yahoo::new(plan.leniency.yahoo));
        let hosts = [5, 6, 7].map(|number| format!("mta{number}.am0.yahoodns.net"));
        for (host, number) in hosts.iter().zip(1..) {
            self.machine(host, ip(3, number), &server, Reach::Answers);
        }
        let mx: Vec<(u16, &str)> = hosts.iter().map(|host| (1, host.as_str())).collect();
        for name in ["yahoo.com", "aol.com", "ymail.com"] {
            self.domain("yahoo", name, &mx);
        }
    }

    fn gateways(&mut self, plan: &Plan, blocklist: &Blocklist) {
        let connections_max = (4.0 * plan.leniency.gateway) as usize;
        let mute = |prefix: &str, numbers: &[usize]| -> HashSet<String> {
            numbers.iter().map(|number| format!("{prefix}{number}.net")).collect()
        };
        let mimecast = Gateway {
            kind: "mimecast",
            connections_max,
            mute_domains: mute("town-mc", &[3, 17]),
            gives_up: Duration::from_secs(20),
            blocklist: blocklist.clone(),
        };
        let proofpoint = Gateway {
            kind: "proofpoint",
            connections_max,
            mute_domains: mute("town-pp", &[5]),
            gives_up: Duration::ZERO,
            blocklist: blocklist.clone(),
        };
        let mimecast = Server::new("mimecast", Some("mimecast"), 30, mimecast);
        let proofpoint = Server::new("proofpoint", Some("proofpoint"), 35, proofpoint);
        let inbound = [1, 2].map(|number| format!("eu-smtp-inbound-{number}.mimecast.com"));
        for (host, number) in inbound.iter().zip(1..) {
            self.machine(host, ip(4, number), &mimecast, Reach::Answers);
        }
        for number in 0..GATEWAY {
            let mx: Vec<(u16, &str)> = inbound.iter().map(|host| (10, host.as_str())).collect();
            self.domain("gateway", &format!("town-mc{number}.net"), &mx);
            let hosts = ["a", "b"].map(|side| format!("mx0{side}-{number:08}.pphosted.com"));
            for (host, last) in hosts.iter().zip(1..) {
                self.machine(host, ip(5, last), &proofpoint, Reach::Answers);
            }
            let mx: Vec<(u16, &str)> = hosts.iter().map(|host| (10, host.as_str())).collect();
            self.domain("gateway", &format!("town-pp{number}.net"), &mx);
        }
    }

    fn shared_hosting(&mut self, plan: &Plan) {
        let behaviour = SharedHosting::new(plan.leniency.shared_hosting);
        let server = Server::new(SharedHosting::KIND, None, 30, behaviour);
        let strict = SharedHosting::strict(plan.leniency.shared_hosting);
        let strict = Server::new(SharedHosting::KIND, None, 30, strict);
        for number in 0..SHARED {
            let name = format!("town-s{number}.net");
            let host = format!("mail.{name}");
            if number < STRICT {
                self.machine(&host, ip(7, 1), &strict, Reach::Answers);
            } else {
                self.machine(&host, ip(6, 1), &server, Reach::Answers);
            }
            self.domain("shared_hosting", &name, &[(0, &host)]);
        }
    }

    fn small(&mut self) {
        for number in 0..POSTSCREEN {
            let name = format!("town-p{number}.net");
            self.own_host("postscreen", &name, 40, Postscreen::default());
        }
        for number in 0..SMALL {
            let habit = [Habit::Plain, Habit::Postgrey, Habit::CatchAll, Habit::SlowBanner];
            let habit = habit[number % habit.len()];
            let round_trip_ms = 30 + 3 * number as u64;
            let name = format!("town-h{number}.net");
            self.own_host("small", &name, round_trip_ms, Small::new(habit, number));
        }
        let backup = Server::new("small", None, 40, Small::new(Habit::Backup, 0));
        self.machine("backup.town-isp.net", ip(8, 1), &backup, Reach::Answers);
        for number in 0..BACKUP {
            let name = format!("town-k{number}.net");
            let habit = if number % 2 == 0 { Habit::Plain } else { Habit::GreylistsKnown };
            let own = Server::new("small", None, 40, Small::new(habit, number));
            self.networks += 1;
            let reach = if number % 3 == 2 { Reach::Refuses } else { Reach::Answers };
            let host = format!("mx.{name}");
            self.machine(&host, ip(100 + self.networks, 25), &own, reach);
            self.domain("small", &name, &[(10, &host), (20, "backup.town-isp.net")]);
        }
    }

    fn broken(&mut self) {
        let faults = [
            Fault::Tarpit,
            Fault::Resets,
            Fault::FewRecipients,
            Fault::FailsForAnHour,
            Fault::OutOfStep,
        ];
        for number in 0..BROKEN {
            let name = format!("town-b{number}.net");
            let fault = faults[number % faults.len()];
            self.own_host("broken", &name, 50, Broken::new(fault, 9 + number as u64 % 8));
            match number % 9 {
                7 => {
                    // The first of two hosts is dead.
                    let (dead, own) = (format!("dead.{name}"), format!("mx.{name}"));
                    let server = Server::new(Broken::KIND, None, 50, Broken::new(fault, 0));
                    self.networks += 1;
                    self.machine(&dead, ip(100 + self.networks, 25), &server, Reach::Silent);
                    self.domain(Broken::KIND, &name, &[(10, &dead), (20, &own)]);
                }
                8 => {
                    if let Some(zone) = self.names.zones.get_mut(&name) {
                        zone.is_lame = true;
                    }
                }
                _ => {}
            }
        }
    }
}

fn new_sources(plan: &Plan) -> HashSet<IpAddr> {
    let added = |origin| plan.events.added.map(|_| desk::source(origin, plan.sources_each));
    (0..plan.origins).filter_map(added).collect()
}

impl Town {
    pub fn build(plan: &Plan, blocklist: &Blocklist) -> Self {
        let mut builder = Builder::default();
        builder.google(plan);
        builder.microsoft(plan);
        builder.yahoo(plan);
        builder.gateways(plan, blocklist);
        builder.shared_hosting(plan);
        builder.small();
        builder.broken();
        let Builder { machines, names, domains, .. } = builder;
        Self { machines: Arc::new(machines), names: Arc::new(names), domains }
    }

    /// A random domain, by the share of its kind in all questions. At Google and Microsoft, a quarter of the questions
    /// are about `gmail.com` and `outlook.com`.
    pub fn domain(&self, random: &mut StdRng) -> &str {
        let mut remainder = random.random_range(0..100);
        let of_part = |(kind, part): &(&'static str, u32)| {
            let chosen = remainder < *part;
            remainder = remainder.saturating_sub(*part);
            chosen.then_some(*kind)
        };
        let kind = TRAFFIC.iter().find_map(of_part).unwrap_or("google");
        if random.random_bool(0.25) {
            match kind {
                "google" => return "gmail.com",
                "microsoft" => return "outlook.com",
                _ => {}
            }
        }
        self.domain_of(kind, random)
    }

    pub fn domain_of(&self, kind: &str, random: &mut StdRng) -> &str {
        let all = self.domains.get(kind).map(Vec::as_slice).unwrap_or_default();
        all.get(random.random_range(0..all.len().max(1))).map_or("gmail.com", String::as_str)
    }

    /// The domain's kind in `TRAFFIC`, otherwise `none`.
    pub fn kind_of(&self, domain: &str) -> &'static str {
        let mut kinds = TRAFFIC.iter().map(|(kind, _)| *kind);
        kinds
            .find(|kind| {
                self.domains.get(kind).is_some_and(|all| all.iter().any(|it| it == domain))
            })
            .unwrap_or("none")
    }
}

/// An address at `domain`: dead with the probability `dead`, full with 1 %, otherwise live.
pub fn address_at(domain: &str, dead: f64, random: &mut StdRng) -> Option<Address> {
    let mailbox = match random.random::<f64>() {
        drawn if drawn < dead => "dead",
        drawn if drawn < dead + 0.01 => "full",
        _ => "live",
    };
    let name: u32 = random.random_range(0..100_000_000);
    Address::parse(&format!("{mailbox}.{name}@{domain}")).ok()
}
