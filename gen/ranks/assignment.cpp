// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/assignment.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lw::gen {
namespace {

/// True if a machine has this name, with or without its domain.
bool is_named(const std::string& machine, const std::string& name) {
  return machine == name || machine.substr(0, machine.find('.')) == name;
}

std::unexpected<Error> fail_at(const config::RankHost& host, const std::string& what) {
  return fail(fmt::format("{}: host \"{}\": {}", host.at, host.name, what));
}

/// Returns the number in a name such as "3"; nothing if it is another name.
std::optional<std::size_t> number_in(const std::string& name) {
  constexpr std::size_t kMostDigits = 5;  // of a rank
  const bool digits = !name.empty() && name.size() <= kMostDigits &&
                      name.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::optional<std::size_t>(std::stoul(name)) : std::nullopt;
}

Result<std::size_t> rank_of(const config::RankHost& host, const std::vector<RankSelf>& ranks) {
  const auto number = host.rank ? std::optional<std::size_t>(*host.rank) : number_in(host.name);
  if (number) {
    if (*number < ranks.size()) return *number;
    return fail_at(host, fmt::format("expected a rank below {}, the number of ranks of mpirun -n, "
                                     "found {}",
                                     ranks.size(), *number));
  }
  std::vector<std::size_t> found;
  std::set<std::string> machines;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    machines.insert(ranks[rank].machine);
    if (is_named(ranks[rank].machine, host.name)) found.push_back(rank);
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    return fail_at(host, fmt::format("expected a machine that runs a rank ({}), or rank = N, found "
                                     "another name",
                                     fmt::join(machines, ", ")));
  return fail_at(host,
                 fmt::format("expected one rank, found ranks {} on that machine: add rank = N",
                             fmt::join(found, ", ")));
}

/// Finds the rank of each host: by index in profile.hosts.
Result<std::vector<std::size_t>> place_hosts(const config::FlowProfile& profile,
                                             const std::vector<RankSelf>& ranks,
                                             std::vector<RankShare>& shares) {
  std::vector<std::size_t> placed;
  for (const config::RankHost& host : profile.hosts) {
    const auto rank = rank_of(host, ranks);
    if (!rank) return std::unexpected(rank.error());
    if (const auto taken = std::ranges::find(placed, *rank); taken != placed.end())
      return fail_at(host, fmt::format("expected another rank than that of host \"{}\", found {}",
                                       shares[*rank].host, *rank));
    placed.push_back(*rank);
    RankShare& share = shares[*rank];
    share.host = host.name;
    if (!host.ports.empty()) share.ports = host.ports;
    if (!host.receive.empty()) share.receive = host.receive;
  }
  return placed;
}

/// Gives the flows to the ranks, each [[flow]] as a whole.
Result<void> give_flows(const config::FlowProfile& profile, const std::vector<std::size_t>& placed,
                        std::vector<RankShare>& shares) {
  std::vector<std::size_t> senders;
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    if (!shares[rank].ports.empty()) senders.push_back(rank);
  std::size_t next = 0;  // of the flows without a host
  for (std::size_t i = 0; i < profile.flows.size(); i += profile.flows[i].qps) {
    const config::Flow& flow = profile.flows[i];
    std::size_t rank = 0;
    if (flow.host != config::Flow::kAnyHost) {
      rank = placed[flow.host];
      if (shares[rank].ports.empty())
        return fail_at(
            profile.hosts[flow.host],
            fmt::format("expected ports, or --port, to send flow \"{}\", found none", flow.name));
    } else if (senders.empty()) {
      return fail("expected a rank with a port to send to: [[host]] ports, or --port, found none");
    } else {
      rank = senders[next++ % senders.size()];
    }
    for (std::uint32_t qp = 0; qp < flow.qps; ++qp) shares[rank].flows.push_back(flow.id + qp);
  }
  return {};
}

}  // namespace

std::string rank_name(std::size_t rank, const std::string& host) {
  return fmt::format("rank {} ({})", rank, host);
}

std::string usual_name(const std::vector<RankSelf>& ranks, std::size_t rank) {
  const std::string& machine = ranks[rank].machine;
  const bool alone = std::ranges::count(ranks, machine, &RankSelf::machine) == 1;
  return alone ? machine : fmt::format("{}/{}", machine, rank);
}

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Result<std::vector<RankShare>> shares_of(const config::FlowProfile& profile,
                                         const std::vector<RankSelf>& ranks) {
  std::vector<RankShare> shares;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    shares.push_back({.host = usual_name(ranks, rank),
                      .ports = ranks[rank].ports,
                      .receive = ranks[rank].receive,
                      .flows = {}});
  const auto placed = place_hosts(profile, ranks, shares);
  if (!placed) return std::unexpected(placed.error());
  if (auto given = give_flows(profile, *placed, shares); !given)
    return std::unexpected(given.error());
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    if (shares[rank].flows.empty() && shares[rank].receive.empty())
      return fail(
          fmt::format("{}: expected flows to send or a port to receive at, found neither: "
                      "start as many ranks as the profile uses",
                      rank_name(rank, shares[rank].host)));
  return shares;
}

config::FlowProfile part_of(const config::FlowProfile& profile, const RankShare& share) {
  config::FlowProfile part = profile;
  part.flows.clear();
  for (const std::uint32_t flow : share.flows) part.flows.push_back(profile.flows[flow]);
  return part;
}

}  // namespace lw::gen
