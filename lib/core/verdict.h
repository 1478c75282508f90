// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/figure.h"

/// The verdict on a result: what was asked of it, what was observed, and whether that holds. Text,
/// --json, pages, live views, JUnit, metrics and exit codes are made from it, in
/// lib/report/verdict.
namespace lw {

/// Whether what was asked holds.
enum class Holds : std::uint8_t { yes, unknown, no };
std::string_view name_of(Holds holds) noexcept;  // "holds", "cannot tell", "does not hold"

/// The colour of a judgement or verdict, the best first.
enum class Colour : std::uint8_t { green, amber, red };
std::string_view name_of(Colour colour) noexcept;

/// A statement about a result, judged.
struct Judgement {
  std::string name = {};  // "loss": a Question, or the path of a figure
  std::string of = {};    // a flow, direction, port or file; empty: the whole
  std::string asked = {};
  std::string asked_by = {};  // "--expect", "x.toml:3:8"; empty: nobody; the command implies it
  std::string observed = {};  // a sentence: "1,977 of 2,000 frames never came"
  std::string where = {};     // who observed it: "receiver", "port counters"
  Holds holds = Holds::unknown;
  std::string reason = {};  // why it is unknown; of what holds: what to know about it
  std::string remedy = {};  // what to do, if it does not hold
  std::optional<FigureValue> measured = {};  // a number or a truth value
  std::uint64_t observations = 0;            // number of frames, samples or checks that it rests on
  ExitCode failure = ExitCode::failed;       // exit code if it is red

  /// Red: it does not hold, or somebody asked and it is unknown. Amber: nobody asked and it is
  /// unknown, or it holds with a reason to look at it.
  [[nodiscard]] Colour colour() const noexcept;
  [[nodiscard]] ExitCode exit() const noexcept {
    return colour() == Colour::red ? failure : ExitCode::done;
  }
  /// What holds with a reason is a "note: ...". Otherwise
  /// "does not hold: web: 1,977 of 2,000 frames never came; asked: loss <= 1% (--expect)".
  [[nodiscard]] std::string sentence() const;
  static const FigureTable& figures();
};

/// All judgements of a result. Its colour and exit code are the worst of them.
class Verdict {
 public:
  void add(Judgement judgement) { all_.push_back(std::move(judgement)); }
  void add(const Verdict& other);
  /// Replaces judgements by those of the same names.
  void replace(const Verdict& others);

  [[nodiscard]] const std::vector<Judgement>& all() const noexcept { return all_; }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] Colour colour() const noexcept;
  [[nodiscard]] ExitCode exit() const noexcept;
  /// Of the worst judgement.
  [[nodiscard]] Holds holds() const noexcept;
  /// The judgements that are not green, the worst first; those of one colour in their order. Valid
  /// until the next add().
  [[nodiscard]] std::vector<const Judgement*> remarkable() const;
  /// The sentence of the worst judgement; "holds: 7 statements" if all are green.
  [[nodiscard]] std::string headline() const;
  static const FigureTable& figures();

 private:
  std::vector<Judgement> all_;
};

}  // namespace lw
