// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stage.h"

#include "emulator/stages/all.h"

namespace lw::emulator {
namespace {

/// Calls visit(number, name) for each stage in the order in which they act.
template <class Visit>
void for_each_number(Visit visit) {
  Stages::for_each([&]<class S>() {
    if constexpr (S::kHooks.has(Hook::number)) visit(S::kNumber, S::kName);
  });
  visit(Stage::pause, std::string_view("pause"));
}

}  // namespace

std::string_view name_of(Stage stage) noexcept {
  std::string_view found = "none";
  for_each_number([&](Stage number, std::string_view name) {
    if (number == stage) found = name;
  });
  return found;
}

Stage StageSet::last() const noexcept {
  Stage last = Stage::none;
  for_each_number([&](Stage number, std::string_view /*name*/) {
    if (has(number)) last = number;
  });
  return last;
}

std::vector<std::string_view> names_of(StageSet stages) {
  std::vector<std::string_view> names;
  for_each_number([&](Stage number, std::string_view name) {
    if (stages.has(number)) names.push_back(name);
  });
  return names;
}

void StageLines::line(std::uint64_t count, std::string_view what) {
  if (count > 0) lines.push_back(std::to_string(count) + " " + std::string(what));
}

}  // namespace lw::emulator
