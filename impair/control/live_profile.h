// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/impair/profile.h"
#include "core/error.h"

namespace lw::impair {

/// The profile that a run follows, and its changes while it runs. A change makes a whole new
/// version, read and validated as at the start; what doesn't pass changes nothing. One thread.
///
/// Buffers are sized when the run starts: a version that needs more (longer delays,
/// larger frames) is refused. Draws go on with the seed that the run started with.
class LiveProfile {
 public:
  struct Version {
    config::ImpairProfile profile;
    std::string text, name;                // what it was read from
    std::vector<config::Edit> edits = {};  // by the scenario, and by those who asked
  };

  /// From a file, "-" for standard input; `seed` in place of its own, and the changes of --set,
  /// which reset() keeps.
  static Result<Version> load(const std::string& file, std::optional<std::uint64_t> seed,
                              std::span<const std::string> changes = {});

  explicit LiveProfile(Version started) : started_(started.profile), now_(std::move(started)) {}

  /// Versions that may take the present one's place: keep() says that one did.
  [[nodiscard]] Result<Version> with(std::span<const config::Edit> edits) const;
  [[nodiscard]] Result<Version> loaded(const std::string& file) const;
  /// Without the edits that were asked for since it was loaded; what its scenario did stays.
  [[nodiscard]] Result<Version> unedited() const;
  /// With what was asked for at the time of `point`; what the scenario did since stays, unless
  /// another profile was loaded.
  struct Point {
    std::string text, name;
    std::vector<config::Edit> edits;
  };
  [[nodiscard]] Point point() const;
  [[nodiscard]] Result<Version> back_to(const Point& point) const;
  /// With a step of its scenario, or of a command: their course was validated before.
  [[nodiscard]] Result<Version> stepped(const config::ScenarioStep& step) const;
  /// What a command brings from now on.
  [[nodiscard]] Result<std::vector<config::ScenarioStep>> on_command(
      const config::Command& command) const;
  void keep(Version version) { now_ = std::move(version); }

  [[nodiscard]] const Version& now() const noexcept { return now_; }

 private:
  [[nodiscard]] Result<Version> read(Version version) const;
  [[nodiscard]] Result<Version> finish(Version version,
                                       Result<config::ImpairProfile> profile) const;

  config::ImpairProfile started_;
  Version now_;
};

}  // namespace lw::impair
