// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/impair/profile.h"
#include "config/toml/document.h"
#include "core/error.h"

namespace lw::config {

/// The parsed text of a profile, from which a run makes the version after each change. The acts of
/// the scenario are read once, so a version takes the same time for any number of acts and steps.
/// Immutable; any thread.
class ProfileSource {
 public:
  /// A profile as its text and some edits describe it, with its scenario.
  struct Reading {
    ImpairProfile profile;
    std::shared_ptr<const ProfileSource> source;
  };
  /// Parses `text` and reads all of the profile, after applying the edits in order. `name.only`: of
  /// the remote client that named the file; see Document::parse(). Each step of the scenario is
  /// checked; `stop` ends this with an error. Errors: those of parse_impair_profile().
  static Result<Reading> read(std::string_view text, FileName name,
                              std::span<const Edit> edits = {}, const std::stop_token& stop = {});

  /// Reads the profile after applying the edits in order. Does not check the changes that the
  /// scenario makes: `scenario` stays empty. Errors do not show the text of files that stages name
  /// if it is not to be shown, or an edit is of a remote client.
  [[nodiscard]] Result<ImpairProfile> with(
      std::span<const Edit> edits, Diagnostics::Texts texts = Diagnostics::Texts::shown) const;

  /// Returns the steps of a command, each checked against the profile with these edits; `stop` ends
  /// this with an error.
  [[nodiscard]] Result<std::vector<ScenarioStep>> steps_on_command(
      std::span<const Edit> edits, const ControlCommand& command,
      const std::stop_token& stop = {}) const;

  [[nodiscard]] const std::string& name() const { return rest_.name(); }

 private:
  ProfileSource(Document rest, Acts acts) : rest_(std::move(rest)), acts_(std::move(acts)) {}
  [[nodiscard]] Result<Document> edited(std::span<const Edit> edits) const;

  Document rest_;  // all but the acts
  Acts acts_;
};

}  // namespace lw::config
