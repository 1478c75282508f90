// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "profile/impair_profile.h"

namespace lw::impair {

/// The profile that a run follows, and its changes while it runs. A change makes a whole new
/// version, read and validated as at the start; what doesn't pass changes nothing. One thread.
///
/// What the run has room for is settled when it starts: a version that needs more (longer delays,
/// larger frames) is refused. Draws go on with the seed that the run started with.
class LiveProfile {
 public:
  struct Version {
    profile::ImpairProfile profile;
    std::string text, name;  // what it was read from
    std::vector<profile::Edit> edits = {};
  };

  explicit LiveProfile(Version started) : started_(started.profile), now_(std::move(started)) {}

  /// Versions that may take the present one's place: keep() says that one did.
  [[nodiscard]] Result<Version> with(std::span<const profile::Edit> edits) const;
  [[nodiscard]] Result<Version> loaded(const std::string& file) const;
  /// Without the edits made since it was loaded.
  [[nodiscard]] Result<Version> unedited() const;
  void keep(Version version) { now_ = std::move(version); }

  [[nodiscard]] const Version& now() const noexcept { return now_; }

 private:
  [[nodiscard]] Result<Version> read(Version version) const;

  profile::ImpairProfile started_;
  Version now_;
};

}  // namespace lw::impair
