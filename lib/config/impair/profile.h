// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/impair/scenario.h"
#include "config/toml/document.h"
#include "config/toml/key_values.h"
#include "core/error.h"
#include "core/expectation.h"
#include "emulator/events/event.h"
#include "emulator/path.h"
#include "emulator/rule_config.h"

namespace lw::config {

/// Memory to reserve per direction: rate x (longest delay + reserve) bytes, in frames of at least
/// `smallest_frame` bytes, each up to `largest_frame` bytes (without FCS).
struct Capacity {
  double rate_bps = 100e9;
  Duration reserve{};  // for longer delays that commands may set during a run
  std::uint32_t smallest_frame = 1024;
  std::uint32_t largest_frame = 9600;
};

/// What a run does when a port loses its link, or its interface disappears.
enum class OnLinkLoss : std::uint8_t {
  stop,  // ends; the exit code is 1
  hold,  // drops and counts that port's frames until it is back
};

/// A profile of roce-impair.
struct ImpairProfile {
  std::string name;
  std::uint64_t seed = 1;
  std::optional<emulator::Path> path;
  bool by_path = false;  // a rule has delay = "path"
  Capacity capacity;
  bool log_all = false;  // the ledger lists every frame
  OnLinkLoss on_link_loss = OnLinkLoss::stop;
  std::vector<Expectation> expect;          // conditions on figures of the report
  std::vector<emulator::RuleConfig> rules;  // not empty, unless there are events
  std::vector<emulator::EventConfig> events;
  // events that wait for a command; of several with one name, the first
  std::vector<emulator::EventConfig> events_on_command;
  Acts acts = std::make_shared<const std::vector<Act>>();  // all acts of the scenario
  std::vector<ScenarioStep> scenario;  // steps of the timed acts, in order of time
  Duration longest_later{};            // longest delay that any act sets
  /// All keys but those of the acts, of a version that ProfileSource read; otherwise null.
  std::shared_ptr<const std::vector<KeyValue>> keys = {};

  /// Longest delay of any rule, at the start or after an act.
  [[nodiscard]] Duration longest_delay() const noexcept;
  /// longest_delay() plus the longest delay of an event.
  [[nodiscard]] Duration longest_stay() const noexcept;
};

/// The delay of a packet that is not affected by losses, jitter or queues.
Duration nominal_delay(const ImpairProfile& profile, emulator::Direction direction);

/// What a profile does to frames, in a few words: "1903.5 us, no loss", "2000 us there, 3000 us
/// back, loss 0.1 %, a queue of 10.00 Gb/s".
std::string words_of(const ImpairProfile& profile);

/// Reads the text of an impair profile or a path: `file` is a path, a bare name, or "-", standard
/// input. Errors (usage): those of find_profile() and read_profile_text().
Result<ProfileText> find_impair_profile(const std::string& file);
/// Reads a profile from a text. docs/reference/impair-profile.md lists the keys. A path's file is
/// relative to the folder of the text's name. Errors (usage): a line per error, with file, line and
/// column. `changes`: those of --set, "long haul.delay=1ms" (Document::edits_of()).
Result<ImpairProfile> read_impair_profile(const ProfileText& text,
                                          std::span<const std::string> changes = {});
/// read_impair_profile() of what find_impair_profile() finds.
Result<ImpairProfile> load_impair_profile(const std::string& file);
/// Converts `changes` to edits of the [[rule]]s in a profile's text.
Result<std::vector<Edit>> rule_edits(std::string_view text, std::string name,
                                     std::span<const std::string> changes);
/// Reads a profile from a text, after applying the edits in order.
Result<ImpairProfile> parse_impair_profile(std::string_view text, std::string name,
                                           std::span<const Edit> edits = {});
/// A control command that starts an act or an event now. The act or event is one of the profile, by
/// name, or `table`: a new one of kind "event", "at", "protection" or "flap".
struct ControlCommand {
  std::string name;
  std::string kind = {};
  std::optional<Value> table = {};
};

}  // namespace lw::config
