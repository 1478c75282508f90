// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/former_lines.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/invocation.h"
#include "core/setting.h"
#include "transport/dcqcn_config.h"

namespace lw::gen {
namespace {

/// The parameter of DCQCN that a name stands for, "rpg-gd" or "rpg_gd"; null: none.
const Figure* parameter_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  const auto rows = transport::DcqcnConfig::figures().rows;
  const auto found = std::ranges::find(rows, name, &Figure::name);
  return found == rows.end() ? nullptr : &*found;
}

/// Whether the parameter's former option had no value: those that are false by default.
bool was_flag(const Figure& row) {
  const transport::DcqcnConfig usual;
  return text_of_setting(row, &usual) == "false";
}

/// Rewrites the words of a former release.
class Rewriting {
 public:
  explicit Rewriting(std::span<const std::string> words) : words_(words) {}

  std::vector<std::string> words() {
    for (; at_ < words_.size() && words_[at_] != "--"; ++at_) rewrite(words_[at_]);
    for (; at_ < words_.size(); ++at_) written_.push_back(words_[at_]);
    return std::move(written_);
  }

 private:
  void rewrite(const std::string& word) {
    const std::size_t end = std::min(word.find('='), word.size());
    const Figure* row = word.starts_with("--") ? parameter_of(word.substr(2, end - 2)) : nullptr;
    if (row != nullptr)
      return rewrite_parameter(*row, end < word.size() ? word.substr(end + 1) : "");
    if (word == "--sim" && written_.size() > 1) {
      written_[1] = "sim";
      return;
    }
    written_.push_back(word);
    if (word == "--sweep" && at_ + 1 < words_.size()) written_.push_back(swept(words_[++at_]));
  }
  void rewrite_parameter(const Figure& row, std::string value) {
    if (value.empty() && was_flag(row)) {
      value = "true";
    } else if (value.empty() && at_ + 1 < words_.size()) {
      value = words_[++at_];
    }
    written_.push_back("--set");
    written_.push_back(fmt::format("cc.{}={}", row.name, value));
  }
  /// "rpg_gd=10,11" is "cc.rpg_gd=10,11".
  static std::string swept(const std::string& text) {
    const std::size_t end = std::min(text.find('='), text.size());
    const Figure* row = parameter_of(text.substr(0, end));
    return row == nullptr ? text : fmt::format("cc.{}{}", row->name, text.substr(end));
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  std::vector<std::string> written_;
};

/// Where a simulation has an option that a port has not: what a port has instead.
struct Instead {
  std::string_view options, what;
};
constexpr Instead kInstead[] = {
    {"--path --delay --distance --path-buffer --loss --mark --seed",
     "put a roce-impair with such a profile between the two sides"},
    {"--round-trips", "over a port give -n or --duration"},
    {"--rate", "a port has a fixed rate; --rate-control fixed with --qp-rate sends slower"},
    {"--nic-latency --receive-limit --nic-per-packet --nic-per-message --arbitration",
     "over a port it is the machine's, and part of the measurement"},
    {"--receives --repost --credits --rnr-timer",
     "over a port the responder keeps a receive for each message"},
    {"--responder-reads", "over a port both sides agree on --reads"},
    {"--reorder-packets", "over a port both sides keep 65536"},
    {"--study", "over a port give --buffers for one row of it"},
    {"--pcap-at", "over a port --pcap captures what passes it"},
};

std::string instead_of(std::string_view option) {
  for (const Instead& each : kInstead)
    for (const auto name : std::views::split(each.options, ' '))
      if (std::string_view(name) == option) return fmt::format("; {}", each.what);
  return {};
}

}  // namespace

Result<void> check_former_line(std::span<const std::string> words) {
  const std::vector<std::string> now = Rewriting(words).words();
  if (std::ranges::equal(now, words)) return {};
  std::string line = "roce-gen";
  for (const std::string& word : now | std::views::drop(1))
    line += " " + (word == "--" ? word : app::quoted_for_shell(word));
  const bool sim = words[1] != now[1];
  return fail(fmt::format("{}; give\n  {}",
                          sim ? "perf --sim: simulations are a command of their own, `roce-gen sim`"
                              : "parameters of DCQCN are keys: --set cc.KEY=VALUE, or of a profile "
                                "that --cc names",
                          line));
}

Result<void> check_own_options(std::span<const std::string> words, const app::Options& own,
                               const app::Options& other) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (!name.starts_with("--") || own.find(name) != nullptr || other.find(name) == nullptr)
      continue;
    const bool port = words[1] == "perf";
    return fail(fmt::format("{}: goes with `roce-gen {}`{}", name, port ? "sim" : "perf",
                            port ? instead_of(name) : "; a simulation has no port"));
  }
  return {};
}

}  // namespace lw::gen
