// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/network_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fnmatch.h>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "config/impair/table_keys.h"
#include "config/limits.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "config/toml/settings.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "emulator/stages/mark.h"
#include "gen/limits.h"
#include "gen/network/fabric.h"
#include "gen/network/job_file.h"
#include "gen/perf/options/nic_profile.h"

namespace lw::gen {
namespace {

using namespace config;
using emulator::Red;
using sim::CableConfig, sim::Node, sim::Sending, sim::SendPattern, sim::SwitchConfig, sim::Topology;

/// Reads one network. Nodes are numbered while they are read: hosts first.
class Reader {
 public:
  /// `folder`: of the file, for the files that it names.
  Reader(const Table& root, const perf::PerfConfig& perf, std::filesystem::path folder)
      : root_(root), perf_(perf), folder_(std::move(folder)) {}

  NetworkFile read();

 private:
  void read_hosts();
  void read_switches();
  void read_links();
  void read_workload();
  void read_sending(const Table& table, Sending& to) const;
  void check_sizes(const Table& table, const Sending& sending) const;
  void read_flows();
  void read_jobs();
  void check();
  [[nodiscard]] bool check_hosts() const;
  void check_pairs() const;
  void check_jobs(const sim::Routes& routes, std::uint64_t& qps) const;
  void check_classes() const;
  void check_headroom() const;
  bool add_name(const Table& table, const std::string& name);
  bool add_host(const Table& table, const std::string& name, std::uint8_t cls);
  bool add_switch(const Table& table, SwitchConfig config, const std::string& name);
  [[nodiscard]] std::vector<Node> matching(const Table& table, std::string_view key,
                                           const std::string& pattern) const;
  [[nodiscard]] std::vector<Node> hosts_of(const Table& table, std::string_view key) const;

  const Table& root_;
  const perf::PerfConfig& perf_;
  std::filesystem::path folder_;
  NetworkFile file_;
  std::map<std::string, Node> nodes_;
  Fabric fabric_;
  std::vector<Table> host_at_, switch_at_;  // where each of them is described
};

/// Returns false, with an error, if a node of this name is there.
bool Reader::add_name(const Table& table, const std::string& name) {
  const auto number = static_cast<Node>(nodes_.size());
  if (nodes_.try_emplace(name, number).second) return true;
  table.refuse("name", fmt::format("expected each name once, found \"{}\" again", name));
  return false;
}

/// Returns false if an error was recorded: the rest of a count would only repeat it.
bool Reader::add_host(const Table& table, const std::string& name, std::uint8_t cls) {
  Topology& t = file_.topology;
  if (t.hosts.size() == sim::kMostHosts) {
    table.refuse(fmt::format("expected at most {} hosts, found more", sim::kMostHosts));
    return false;
  }
  t.hosts.push_back(name);
  t.host_class.push_back(cls);
  host_at_.push_back(table);
  return add_name(table, name);
}

/// A [[host]] with `count` stands for hosts whose names end with 1 to count.
void Reader::read_hosts() {
  if (const auto table = root_.table("fabric")) {
    fabric_ = read_fabric(*table);
    file_.topology.ecmp = fabric_.ecmp;
    for (const std::string& host : fabric_.hosts)
      if (!add_host(*table, host, 0)) break;
  }
  for (const Table& table : root_.tables("host")) {
    const auto name = table.require("name", read_text, "a name such as \"a\"").value_or("");
    const auto count = table.get("count", integer<std::uint32_t>(1, sim::kMostHosts));
    const auto cls = table.get_or("class", integer<std::uint8_t>(0, sim::kMostInputs - 1), 0);
    for (std::uint32_t i = 1; i <= count.value_or(1); ++i)
      if (!add_host(table, count ? name + std::to_string(i) : name, cls)) break;
    table.finish();
  }
}

std::optional<Red> read_marking(const Table& parent) {
  const auto table = parent.table("mark");
  if (!table) return std::nullopt;
  const auto red = emulator::read_red(*config::keys_of(*table, {}));
  if (!red) table->refuse("expected kmin and kmax, found neither");
  table->finish();
  return red;
}

SwitchConfig read_switch(const Table& table) {
  SwitchConfig to;
  read_settings(table, to);
  for (const char* key : {"response", "headroom"})
    if (!to.pause && table.has_own(key)) table.refuse(key, "expected pfc = true beside it");
  to.marking = read_marking(table);
  for (const emulator::ServiceOrder& each : to.classes)
    if (each.priority >= sim::kCnpPriority)
      table.refuse("classes", fmt::format("expected priorities below {}, that of CNPs, found {}",
                                          sim::kCnpPriority, each.priority));
  return to;
}

/// Returns false if an error was recorded.
bool Reader::add_switch(const Table& table, SwitchConfig config, const std::string& name) {
  if (file_.topology.switches.size() == sim::kMostSwitches) {
    table.refuse(fmt::format("expected at most {} switches, found more", sim::kMostSwitches));
    return false;
  }
  config.name = name;
  switch_at_.push_back(table);
  file_.topology.switches.push_back(std::move(config));
  return add_name(table, name);
}

/// A [[switch]] with `count` stands for several, like a host. [switches] has defaults, also of
/// those of the fabric.
void Reader::read_switches() {
  const auto defaults = root_.table("switches");
  if (!fabric_.switches.empty()) {
    const Table table = defaults ? *defaults : root_.table("fabric").value_or(root_);
    const SwitchConfig config = defaults ? read_switch(table) : SwitchConfig{};
    for (const std::string& name : fabric_.switches)
      if (!add_switch(table, config, name)) break;
  }
  for (const Table& own : root_.tables("switch")) {
    const Table table = defaults ? own.with_defaults(*defaults) : own;
    const auto name = table.require("name", read_text, "a name such as \"west\"").value_or("");
    const auto count = table.get("count", integer<std::uint32_t>(1, sim::kMostSwitches));
    const SwitchConfig config = read_switch(table);
    table.finish();
    for (std::uint32_t i = 1; i <= count.value_or(1); ++i)
      if (!add_switch(table, config, count ? name + std::to_string(i) : name)) break;
  }
  if (defaults) defaults->finish();
}

/// The nodes whose names match a pattern such as "sender*".
std::vector<Node> Reader::matching(const Table& table, std::string_view key,
                                   const std::string& pattern) const {
  std::vector<Node> found;
  for (const auto& [name, node] : nodes_)
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) found.push_back(node);
  std::ranges::sort(found);
  if (found.empty())
    table.refuse(key, fmt::format("expected the name of a host or switch, found \"{}\"", pattern));
  return found;
}

/// A [[link]] is a cable from each node of one pattern to each of another.
void Reader::read_links() {
  for (const Fabric::Cable& cable : fabric_.cables)
    file_.topology.cables.push_back({.a = nodes_[cable.a],
                                     .b = nodes_[cable.b],
                                     .rate_bps = cable.rate_bps,
                                     .delay = cable.delay});
  for (const Table& table : root_.tables("link")) {
    static_cast<void>(table.get("name", read_text));  // for files that include this one
    const auto ends = table.require("between", list_of(read_text), "two names: [\"a\", \"west\"]")
                          .value_or(std::vector<std::string>{});
    CableConfig cable;
    read_settings(table, cable);
    if (table.has("delay") == table.has("distance"))
      table.refuse("expected a delay, \"1us\", or a distance, \"380km\"");
    if (const auto km = table.get("distance", parse_kilometres)) cable.delay = delay_of_fibre(*km);
    const auto count = table.get_or("count", integer<std::uint32_t>(1, sim::kMostPorts), 1);
    table.finish();
    if (ends.size() != 2) {
      table.refuse("between", fmt::format("expected two names, found {}", ends.size()));
      continue;
    }
    for (const Node a : matching(table, "between", ends[0])) {
      for (const Node b : matching(table, "between", ends[1])) {
        if (a == b) continue;
        cable.a = a;
        cable.b = b;
        for (std::uint32_t i = 0; i < count; ++i) file_.topology.cables.push_back(cable);
      }
    }
  }
}

/// The hosts of some patterns, each once. Switches among the names that match are left out.
std::vector<Node> Reader::hosts_of(const Table& table, std::string_view key) const {
  std::vector<Node> hosts;
  for (const std::string& pattern : table.get_or(key, list_of(read_text), {})) {
    const std::vector<Node> nodes = matching(table, key, pattern);
    const std::size_t before = hosts.size();
    std::ranges::copy_if(nodes, std::back_inserter(hosts),
                         [&](Node node) { return file_.topology.is_host(node); });
    if (hosts.size() == before && !nodes.empty())
      table.refuse(key, fmt::format("expected a host, found the switch \"{}\"",
                                    file_.topology.name(nodes.front())));
  }
  std::ranges::sort(hosts);
  hosts.erase(std::ranges::unique(hosts).begin(), hosts.end());
  return hosts;
}

/// The keys that [workload] and [[flow]] share.
void Reader::read_sending(const Table& table, Sending& to) const {
  to.senders = hosts_of(table, "from");
  to.receivers = hosts_of(table, "to");
  if (to.load > 0 && (table.has("qps") || table.has("messages")))
    table.refuse("load", "expected neither qps nor messages beside it: each flow is a message");
}

void Reader::check_sizes(const Table& table, const Sending& sending) const {
  for (const Table& size : table.tables("size"))
    if (!size.has("bytes")) size.refuse("bytes", "expected a size");
  if (sending.load > 0 && sending.sizes.empty())
    table.refuse("load", "expected a [[workload.size]] beside it, found none");
  if (sending.load == 0 && !sending.sizes.empty())
    table.refuse("size", "expected a load beside it, found none");
}

void Reader::read_workload() {
  const auto table = root_.table("workload");
  file_.workload.sendings.clear();
  if (table) {
    Sending& to = file_.workload.sendings.emplace_back();
    to.pattern = SendPattern::all_to_all;
    if (!table->has("pattern"))
      table->refuse("pattern", "expected incast, permutation or all-to-all, found none");
    read_settings(*table, Sending::workload_settings(), &to);
    read_sending(*table, to);
    check_sizes(*table, to);
    if (to.pattern == SendPattern::incast && to.receivers.size() != 1)
      table->refuse("to", "expected the host that an incast goes to");
    table->finish();
  }
  read_flows();
  read_jobs();
  if (file_.workload.sendings.empty() && file_.jobs.empty() && !root_.has("workload"))
    root_.refuse("expected a [workload], a [[flow]] or a [[job]], found none");
}

/// A [[flow]] goes from each host of one pattern to each of another.
void Reader::read_flows() {
  for (const Table& table : root_.tables("flow")) {
    Sending& to = file_.workload.sendings.emplace_back();
    to.pattern = SendPattern::all_to_all;
    for (const char* key : {"from", "to"})
      if (!table.has(key)) table.refuse(key, "expected a host or a pattern of hosts, found none");
    read_settings(table, Sending::flow_settings(), &to);
    read_sending(table, to);
    if (to.load > 0) to.sizes = {{.bytes = to.size > 0 ? to.size : perf_.size}};
    to.start_within = {};
    table.finish();
  }
}

/// The ranks of a [[job]] are hosts in the order in which they are described.
void Reader::read_jobs() {
  std::size_t messages = 0;
  for (const Table& table : root_.tables("job")) {
    if (!table.has("ranks"))
      table.refuse("ranks", "expected hosts or patterns of hosts, found none");
    const auto& job = file_.jobs.emplace_back(
        read_job(table, folder_, hosts_of(table, "ranks"), perf_.nic.step_overhead));
    messages += job.schedule.size();
    if (messages > sim::kMostTransfers)
      return table.refuse(
          fmt::format("expected at most {} messages of all jobs, found more", sim::kMostTransfers));
  }
}

/// A switch with classes has one for each number that hosts have.
void Reader::check_classes() const {
  const Topology& t = file_.topology;
  const std::uint8_t most = t.host_class.empty() ? 0 : *std::ranges::max_element(t.host_class);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const std::size_t classes = t.switches[i].classes.size();
    if (classes > sim::kMostInputs)
      switch_at_[i].refuse("classes",
                           fmt::format("expected at most {}, found {}", sim::kMostInputs, classes));
    if (classes > 0 && classes <= most)
      switch_at_[i].refuse(
          "classes",
          fmt::format("expected one for each class of hosts, 0 to {}, found {}", most, classes));
  }
}

/// What PFC needs: each port's headroom, of which a long cable's is large.
void Reader::check_headroom() const {
  const Topology& t = file_.topology;
  const auto ports = sim::ports_of(t);
  for (std::size_t i = 0; i < t.switches.size(); ++i) {
    const SwitchConfig& config = t.switches[i];
    if (!config.pause) continue;
    std::uint64_t sum = 0, most = 0;
    Node far = 0;
    const auto node = static_cast<Node>(t.hosts.size() + i);
    for (const sim::PortEnd& port : ports[node]) {
      const std::uint64_t bytes = config.headroom_bytes.value_or(
          sim::headroom_of(t, node, port, perf_.nic.latency, perf_.qp.mtu).total());
      sum += bytes;
      if (bytes > most) far = port.to;
      most = std::max(most, bytes);
    }
    if (sum < config.buffer_bytes) continue;
    switch_at_[i].refuse(
        "buffer",
        fmt::format("expected more than the headroom that PFC needs, {} in all ({} for the link to "
                    "{}), found {}",
                    format_bytes(static_cast<double>(sum)), format_bytes(static_cast<double>(most)),
                    t.name(far), format_bytes(static_cast<double>(config.buffer_bytes))));
  }
}

/// Hosts have one cable. Those that a table describes together have one error together.
bool Reader::check_hosts() const {
  const Topology& t = file_.topology;
  const auto ports = sim::ports_of(t);
  bool sound = true;
  for (Node host = 0; host < t.hosts.size();) {
    const Node first = host;
    std::optional<Node> wrong;
    std::size_t others = 0;
    for (; host < t.hosts.size() && host_at_[host].position() == host_at_[first].position();
         ++host) {
      if (ports[host].size() == 1) continue;
      if (wrong) ++others;
      if (!wrong) wrong = host;
    }
    if (!wrong) continue;
    sound = false;
    host_at_[first].refuse(fmt::format(
        "expected one [[link]] of the host \"{}\", found {}{}", t.name(*wrong),
        ports[*wrong].size(), others == 0 ? "" : fmt::format("; so of {} others", others)));
  }
  return sound;
}

/// Hosts have one cable, switches not too many, and senders reach their receivers.
void Reader::check() {
  const Topology& t = file_.topology;
  if (t.hosts.size() < 2) return root_.refuse("expected at least two [[host]]s");
  const auto ports = sim::ports_of(t);
  bool sound = check_hosts();
  for (auto node = static_cast<Node>(t.hosts.size()); node < t.nodes(); ++node) {
    const SwitchConfig& config = t.switches[node - t.hosts.size()];
    const std::size_t queues = std::max<std::size_t>(1, config.classes.size());
    const std::size_t most = config.queue_per_input ? sim::kMostInputs / queues : sim::kMostPorts;
    if (ports[node].size() <= most) continue;
    sound = false;
    switch_at_[node - t.hosts.size()].refuse(fmt::format(
        "expected at most {} links of the switch \"{}\"{}, found {}", most, t.name(node),
        config.queue_per_input ? " with a queue per input and class" : "", ports[node].size()));
  }
  check_classes();
  check_headroom();
  if (sound) check_pairs();
}

/// Senders reach their receivers, and have not too many QPs. With a permutation, each host may get
/// each other one, by the seed.
void Reader::check_pairs() const {
  const Topology& t = file_.topology;
  const sim::Routes routes(t);
  constexpr std::uint64_t kAnySeed = 1;
  std::uint64_t qps = 0;
  for (const Sending& sending : file_.workload.sendings) {
    Sending any = sending;
    if (any.pattern == SendPattern::permutation) any.pattern = SendPattern::all_to_all;
    if (any.pattern == SendPattern::incast && any.receivers.empty()) return;
    const auto pairs = sim::pairs_of(any, t.hosts.size(), kAnySeed);
    const std::size_t used =
        sending.pattern == SendPattern::permutation ? t.hosts.size() : pairs.size();
    if (pairs.empty()) root_.refuse("expected hosts that send to others, found none");
    if (sending.load == 0) qps += used * sending.qps;
    for (const auto& [from, to] : pairs) {
      if (routes.reaches(from, to) && routes.reaches(to, from)) continue;
      return root_.refuse(fmt::format("expected links from the host \"{}\" to \"{}\", found no way",
                                      t.name(from), t.name(to)));
    }
  }
  check_jobs(routes, qps);
  if (qps > config::kMostQps)
    root_.refuse(fmt::format("expected at most {} QPs in all, found {}", config::kMostQps, qps));
}

/// Ranks reach those that they send to; each of these pairs has a QP for each channel.
void Reader::check_jobs(const sim::Routes& routes, std::uint64_t& qps) const {
  const Topology& t = file_.topology;
  for (const sim::JobConfig& job : file_.jobs) {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> queues;
    for (const sim::JobMessage& each : job.schedule)
      queues.emplace(each.from, each.to, each.channel);
    qps += queues.size();
    for (const auto& [from, to, channel] : queues) {
      const Node here = job.ranks[from], there = job.ranks[to];
      if (routes.reaches(here, there) && routes.reaches(there, here)) continue;
      return root_.refuse(fmt::format("expected links from the host \"{}\" to \"{}\", found no way",
                                      t.name(here), t.name(there)));
    }
  }
}

NetworkFile Reader::read() {
  file_.title = root_.get_or("title", read_text, "");
  constexpr double kAllowed = 100, kMost = 1000;  // ppm; IEEE 802.3
  file_.topology.clock_ppm = root_.get_or("clock_ppm", number(0, kMost), kAllowed);
  read_hosts();
  read_switches();
  read_links();
  read_workload();
  check();
  root_.finish();
  return std::move(file_);
}

/// Applies the profile that the key `nic` names, unless another one was given.
void apply_nic(const Table& root, const std::string& given, perf::PerfConfig& perf) {
  const auto name = root.get("nic", read_text);
  if (!name || !given.empty()) return;
  if (const auto applied = apply_nic_profile(*name, perf); !applied)
    root.refuse("nic", applied.error().message);
}

Result<NetworkFile> read_network(Document document, const std::string& nic,
                                 perf::PerfConfig& perf) {
  const Table root = document.root();
  apply_nic(root, nic, perf);
  NetworkFile file =
      Reader(root, perf, std::filesystem::path(document.name()).parent_path()).read();
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  file.name = std::filesystem::path(document.name()).stem().string();
  if (file.title.empty()) file.title = file.name;
  return file;
}

}  // namespace

Result<NetworkFile> load_network(const std::string& name, const std::string& nic,
                                 perf::PerfConfig& perf) {
  auto document = Document::find(name, kNetworkProfiles);
  if (!document) return std::unexpected(document.error());
  return read_network(std::move(*document), nic, perf);
}

}  // namespace lw::gen
