// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/schedule.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "sim/network/switch_config.h"

namespace lw::sim {
namespace {

constexpr std::string_view kCollectiveNames[] = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "pipeline", "trace"};
constexpr std::string_view kAlgorithmNames[] = {"ring", "tree", "halving-doubling", "hierarchical",
                                                "direct"};

/// Share i of n of some bytes; together they are all of them.
constexpr std::uint64_t share_of(std::uint64_t bytes, std::uint64_t i, std::uint64_t n) noexcept {
  return bytes / n + (i < bytes % n ? 1 : 0);
}

/// One of the messages that go at the same time: at most one to each rank.
struct Hop {
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;  // of all channels
};
using Step = std::vector<Hop>;

/// Adds transfers; splits data into channels and chunks.
class Builder {
 public:
  explicit Builder(const CollectiveConfig& config) : config_(config) {}

  /// Adds steps, each of which needs what the step before brought. Chunks do not wait for others.
  void add_steps(const std::vector<Step>& steps);
  /// Adds messages from the root of a tree to all ranks, and, if it `reduces`, before these to it.
  /// `parent`: of each rank; the root is its own.
  void add_tree(const std::vector<std::uint32_t>& parent, std::uint64_t bytes, bool reduces,
                std::uint32_t first_channel);

  [[nodiscard]] std::uint64_t chunks_of(std::uint64_t bytes) const noexcept {
    const std::uint64_t channel = (bytes + config_.channels - 1) / config_.channels;
    return config_.chunk == 0
               ? 1
               : std::max<std::uint64_t>(1, (channel + config_.chunk - 1) / config_.chunk);
  }
  /// More than kMostTransfers: the schedule lacks those of the call that would have passed it.
  bool too_many = false;
  Schedule schedule;

 private:
  /// Whether so many messages more fit, for each of `ways`.
  bool has_room(std::uint64_t ways, std::uint64_t messages) {
    too_many |= ways > (kMostTransfers - schedule.size()) / std::max<std::uint64_t>(messages, 1);
    return !too_many;
  }
  std::uint32_t add(std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                    std::uint64_t bytes, std::vector<std::uint32_t> after) {
    schedule.push_back({from, to, channel, bytes, std::move(after), {}});
    return static_cast<std::uint32_t>(schedule.size() - 1);
  }

  const CollectiveConfig& config_;
};

void Builder::add_steps(const std::vector<Step>& steps) {
  std::uint64_t chunks = 1;
  for (const Step& step : steps)
    for (const Hop& hop : step) chunks = std::max(chunks, chunks_of(hop.bytes));
  const std::size_t ways = chunks * config_.channels;
  std::size_t hops = 0;
  for (const Step& step : steps) hops += step.size();
  if (!has_room(ways, hops)) return;
  // By way and rank: what arrived last from each that sent to it.
  using Latest = std::map<std::uint32_t, std::uint32_t>;
  std::vector<Latest> arrived(ways * config_.ranks);
  for (const Step& step : steps) {
    std::vector<Latest> arrives = arrived;
    for (std::size_t way = 0; way < ways; ++way)
      for (const Hop& hop : step) {
        std::vector<std::uint32_t> after;
        for (const auto& [from, transfer] : arrived[way * config_.ranks + hop.from])
          after.push_back(transfer);
        arrives[way * config_.ranks + hop.to][hop.from] =
            add(hop.from, hop.to, static_cast<std::uint32_t>(way % config_.channels),
                share_of(hop.bytes, way, ways), std::move(after));
      }
    arrived = std::move(arrives);
  }
}

void Builder::add_tree(const std::vector<std::uint32_t>& parent, std::uint64_t bytes, bool reduces,
                       std::uint32_t first_channel) {
  const auto ranks = static_cast<std::uint32_t>(parent.size());
  std::vector<std::uint32_t> order(ranks);  // each parent before its children
  std::vector<std::uint32_t> depth(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r)
    for (std::uint32_t at = r; parent[at] != at; at = parent[at]) ++depth[r];
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t r) { return depth[r]; });
  const std::uint64_t ways = chunks_of(bytes) * config_.channels;
  if (!has_room(ways, 2 * std::uint64_t{ranks})) return;
  for (std::uint64_t way = 0; way < ways; ++way) {
    const std::uint32_t channel =
        first_channel + static_cast<std::uint32_t>(way % config_.channels);
    const std::uint64_t part = share_of(bytes, way, ways);
    std::vector<std::vector<std::uint32_t>> got(ranks);
    if (reduces)
      for (const std::uint32_t r : std::vector(order.rbegin(), order.rend()))
        if (parent[r] != r) got[parent[r]].push_back(add(r, parent[r], channel, part, got[r]));
    for (const std::uint32_t r : order)
      if (parent[r] != r) got[r] = {add(parent[r], r, channel, part, got[parent[r]])};
  }
}

/// n - 1 steps in which each of `ranks` sends a share of the data to the next.
std::vector<Step> ring_steps(const std::vector<std::vector<std::uint32_t>>& rings,
                             std::uint64_t bytes) {
  std::vector<Step> steps;
  for (std::size_t step = 0; step + 1 < rings.front().size(); ++step) {
    Step& hops = steps.emplace_back();
    for (const auto& ring : rings)
      for (std::size_t i = 0; i < ring.size(); ++i)
        hops.push_back(
            {ring[i], ring[(i + 1) % ring.size()],
             share_of(bytes, (i + ring.size() - step % ring.size()) % ring.size(), ring.size())});
  }
  return steps;
}

std::vector<std::uint32_t> all_ranks(const CollectiveConfig& config) {
  std::vector<std::uint32_t> ranks(config.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void append(std::vector<Step>& steps, std::vector<Step> more) {
  steps.insert(steps.end(), more.begin(), more.end());
}

/// Reduce-scatter by halves, or all-gather by doubling: partners at half of the ranks, a quarter,
/// ...
std::vector<Step> halving_steps(const CollectiveConfig& config) {
  std::vector<Step> steps;
  for (std::uint32_t away = config.ranks / 2, part = 2; away > 0; away /= 2, part *= 2) {
    Step& hops = steps.emplace_back();
    for (std::uint32_t r = 0; r < config.ranks; ++r)
      hops.push_back({r, r ^ away, share_of(config.bytes, 0, part)});
  }
  return steps;
}

std::vector<Step> doubling_steps(const CollectiveConfig& config) {
  auto steps = halving_steps(config);
  std::ranges::reverse(steps);
  return steps;
}

std::vector<Step> hierarchical_steps(const CollectiveConfig& config) {
  const std::uint32_t in_group = config.ranks / config.groups;
  std::vector<std::vector<std::uint32_t>> groups(config.groups), peers(in_group);
  for (std::uint32_t r = 0; r < config.ranks; ++r) {
    groups[r / in_group].push_back(r);
    peers[r % in_group].push_back(r);
  }
  std::vector<Step> steps;
  if (in_group > 1) append(steps, ring_steps(groups, config.bytes));
  const std::uint64_t part = share_of(config.bytes, 0, in_group);
  append(steps, ring_steps(peers, part));
  append(steps, ring_steps(peers, part));
  if (in_group > 1) append(steps, ring_steps(groups, config.bytes));
  return steps;
}

/// Steps of the collectives in which all ranks send at the same time.
std::vector<Step> steps_of(const CollectiveConfig& config) {
  const bool reduces = config.collective != Collective::all_gather;
  const bool gathers = config.collective != Collective::reduce_scatter;
  std::vector<Step> steps;
  switch (config.algorithm) {
    case Algorithm::ring:
      for (const bool phase : {reduces, gathers})
        if (phase) append(steps, ring_steps({all_ranks(config)}, config.bytes));
      return steps;
    case Algorithm::halving_doubling:
      if (reduces) append(steps, halving_steps(config));
      if (gathers) append(steps, doubling_steps(config));
      return steps;
    case Algorithm::hierarchical:
      return hierarchical_steps(config);
    case Algorithm::tree:
    case Algorithm::direct:
      break;
  }
  return steps;
}

/// Parents in a binary tree whose inner nodes are the ranks at odd places, so that the tree over
/// ranks that are shifted by one has others. (P. Sanders, J. Speck, J. L. Traeff, "Two-tree
/// algorithms for full bandwidth broadcast, reduction and scan", 2009)
void add_subtree(std::vector<std::uint32_t>& parent, std::uint32_t low, std::uint32_t size,
                 std::optional<std::uint32_t> above) {
  if (size == 0) return;
  const std::uint32_t inner = std::bit_floor(size) - 1;  // a full tree
  const std::uint32_t root = low + inner;
  parent[root] = above.value_or(root);
  add_subtree(parent, low, inner, root);
  add_subtree(parent, root + 1, size - inner - 1, root);
}

std::vector<std::uint32_t> tree_of(std::uint32_t ranks, std::uint32_t shift) {
  std::vector<std::uint32_t> places(ranks), parent(ranks);
  add_subtree(places, 0, ranks, std::nullopt);
  for (std::uint32_t p = 0; p < ranks; ++p)
    parent[(p + shift) % ranks] = (places[p] + shift) % ranks;
  return parent;
}

/// Rank r hands on to r + 1.
std::vector<std::uint32_t> chain_of(std::uint32_t ranks) {
  std::vector<std::uint32_t> parent(ranks);
  for (std::uint32_t r = 1; r < ranks; ++r) parent[r] = r - 1;
  return parent;
}

/// Rank r hands on to 2 r + 1 and 2 r + 2.
std::vector<std::uint32_t> heap_of(std::uint32_t ranks) {
  std::vector<std::uint32_t> parent(ranks);
  for (std::uint32_t r = 1; r < ranks; ++r) parent[r] = (r - 1) / 2;
  return parent;
}

bool fits(Collective collective, Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::ring:
      return collective != Collective::all_to_all;
    case Algorithm::tree:
      return collective == Collective::all_reduce || collective == Collective::broadcast;
    case Algorithm::halving_doubling:
      return collective <= Collective::reduce_scatter;
    case Algorithm::hierarchical:
      return collective == Collective::all_reduce;
    case Algorithm::direct:
      return collective == Collective::all_to_all;
  }
  return false;
}

Result<void> check(const CollectiveConfig& config) {
  const auto [collective, algorithm, bytes, ranks, groups, channels, chunk] = config;
  if (!fits(collective, algorithm))
    return fail(fmt::format("expected an algorithm of {}, found {}", name_of(collective),
                            name_of(algorithm)));
  if (algorithm == Algorithm::halving_doubling && !std::has_single_bit(ranks))
    return fail(fmt::format("halving-doubling: expected a power of two of ranks, found {}", ranks));
  if (algorithm == Algorithm::hierarchical && (groups < 2 || ranks % groups != 0))
    return fail(
        fmt::format("hierarchical: expected two groups or more of as many ranks each, "
                    "found {} of {}",
                    groups, ranks));
  const std::uint64_t least = std::uint64_t{ranks} * channels;
  if (bytes < least)
    return fail(fmt::format("expected at least {} B, one for each rank and channel, found {} B",
                            least, bytes));
  return {};
}

}  // namespace

const FigureTable& CollectiveConfig::figures() {
  using Row = FigureOf<CollectiveConfig>;
  constexpr double kMostBytes = std::uint64_t{1} << 44;
  constexpr std::uint32_t kMostChannels = 64;
  static constexpr Figure kRows[] = {
      Row::of<&CollectiveConfig::collective>("collective", "What the ranks exchange.")
          .set_to(std::span(kCollectiveNames).first(6)),
      Row::of<&CollectiveConfig::algorithm>("algorithm", "How they do it.").set_to(kAlgorithmNames),
      Row::of<&CollectiveConfig::bytes>("size", "The whole buffer, as nccl-tests count it.",
                                        Unit::bytes)
          .from(1, kMostBytes),
      Row::of<&CollectiveConfig::groups>(
          "groups",
          "`hierarchical`: equal shares of the ranks, in their order, such as one a site.")
          .from(1, kMostHosts),
      Row::of<&CollectiveConfig::channels>(
          "channels", "Shares of the data that go side by side, each with its own QPs.")
          .from(1, kMostChannels),
      Row::of<&CollectiveConfig::chunk>(
          "chunk",
          "Most bytes of a message; a chunk is handed on as soon as it is whole; 0: a step "
          "is one message.",
          Unit::bytes)
          .from(0, kMostBytes)};
  static constexpr FigureTable kTable{"A collective.", kRows};
  return kTable;
}

Result<Schedule> schedule_of(const CollectiveConfig& config) {
  if (const auto checked = check(config); !checked) return std::unexpected(checked.error());
  Builder builder(config);
  if (config.algorithm == Algorithm::direct) {
    for (std::uint32_t away = 1; away < config.ranks; ++away) {
      Step step;
      for (std::uint32_t r = 0; r < config.ranks; ++r)
        step.push_back({r, (r + away) % config.ranks, share_of(config.bytes, away, config.ranks)});
      builder.add_steps({step});
    }
  } else if (config.collective == Collective::broadcast ||
             config.collective == Collective::pipeline) {
    const bool tree = config.algorithm == Algorithm::tree;
    builder.add_tree(tree ? heap_of(config.ranks) : chain_of(config.ranks), config.bytes, false, 0);
  } else if (config.algorithm == Algorithm::tree) {
    for (const std::uint32_t half : {0u, 1u})
      builder.add_tree(tree_of(config.ranks, half), share_of(config.bytes, half, 2), true,
                       half * config.channels);
  } else {
    builder.add_steps(steps_of(config));
  }
  if (builder.too_many)
    return fail(
        fmt::format("expected at most {} messages, found more: use larger chunks or fewer "
                    "channels",
                    kMostTransfers));
  return std::move(builder.schedule);
}

std::vector<std::uint32_t> steps_of(const Schedule& schedule) {
  std::vector<std::uint32_t> steps(schedule.size(), 1);
  for (std::size_t i = 0; i < schedule.size(); ++i)
    for (const std::uint32_t before : schedule[i].after)
      steps[i] = std::max(steps[i], steps[before] + 1);
  return steps;
}

double bus_factor(Collective collective, std::uint32_t ranks) noexcept {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * others;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return others;
    case Collective::broadcast:
    case Collective::pipeline:
    case Collective::trace:
      break;
  }
  return 1;
}

std::string_view name_of(Collective collective) noexcept {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}

std::string_view name_of(Algorithm algorithm) noexcept {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

}  // namespace lw::sim
