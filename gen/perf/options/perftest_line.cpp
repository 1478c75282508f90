// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perftest_line.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lw::gen::perftest {
namespace {

constexpr auto kPrograms = std::to_array<PerftestProgram>({
    {"ib_write_bw", "write", false, "65536", "5000"},
    {"ib_send_bw", "send", false, "65536", "1000"},
    {"ib_read_bw", "read", false, "65536", "1000"},
    {"ib_atomic_bw", "atomic", false, "8", "1000"},
    {"ib_write_lat", "write", true, "2", "1000"},
    {"ib_send_lat", "send", true, "2", "1000"},
    {"ib_read_lat", "read", true, "2", "1000"},
    {"ib_atomic_lat", "atomic", true, "8", "1000"},
});
/// Stands for a line without a program's name: nothing is left out of it.
constexpr PerftestProgram kAnyProgram{"roce-gen perf", "send", false, "", ""};

class LineReader {
 public:
  explicit LineReader(std::span<const std::string> words) : words_(words) {}

  Result<PerftestLine> read() {
    const auto program = std::ranges::find(kPrograms, words_.front(), &PerftestProgram::name);
    if (program == kPrograms.end())
      return fail(
          fmt::format("expected ib_write_bw, ib_send_bw, ib_read_bw, ib_atomic_bw, or one "
                      "of their _lat, behind --, found \"{}\"",
                      words_.front()));
    return read_as(*program);
  }
  /// Reads the options behind the first word as those of `program`.
  Result<PerftestLine> read_as(const PerftestProgram& program) {
    line_.program = &program;
    for (at_ = 1; at_ < words_.size(); ++at_)
      if (auto taken = take(words_[at_]); !taken) return std::unexpected(taken.error());
    return line_;
  }

 private:
  Result<void> take(const std::string& word) {
    if (word.starts_with("--")) return take_long(std::string_view(word).substr(2));
    if (word.size() > 1 && word.starts_with('-')) return take_letters(word);
    if (!line_.server.empty())
      return fail(fmt::format("expected one server, found \"{}\" and \"{}\"", line_.server, word));
    line_.server = word;
    return {};
  }

  Result<void> take_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const PerftestOption* option = by_name(name);
    if (option == nullptr) return unknown(fmt::format("--{}", name));
    if (equals == std::string_view::npos) return add(*option, {});
    if (!option->takes_value) return fail(fmt::format("--{} takes no value", name));
    line_.given.push_back({option, std::string(text.substr(equals + 1))});
    return {};
  }

  Result<void> take_letters(std::string_view word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const PerftestOption* option = by_letter(word[i]);
      if (option == nullptr) return unknown(fmt::format("-{}", word[i]));
      if (option->takes_value) return add(*option, word.substr(i + 1));
      line_.given.push_back({option, {}});
    }
    return {};
  }

  /// Adds an option, whose value is `attached` or the next word.
  Result<void> add(const PerftestOption& option, std::string_view attached) {
    std::string value(attached);
    if (option.takes_value && value.empty()) {
      if (at_ + 1 == words_.size())
        return fail(fmt::format("{}: expected a value, found none", written(option)));
      value = words_[++at_];
    }
    line_.given.push_back({&option, std::move(value)});
    return {};
  }

  [[nodiscard]] Result<void> unknown(const std::string& option) const {
    return fail(fmt::format("{}: {} has no such option", option, line_.program->name));
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  PerftestLine line_{};
};

}  // namespace

Result<PerftestLine> read_line(std::span<const std::string> words) {
  return LineReader(words).read();
}

Result<PerftestLine> read_options(std::span<const std::string> words) {
  return LineReader(words).read_as(kAnyProgram);
}

}  // namespace lw::gen::perftest
