// SPDX-License-Identifier: BSD-3-Clause
#include "nic/set_down.h"

#include <array>
#include <atomic>
#include <mutex>
#include <net/if.h>

#include "core/last_steps.h"
#include "nic/interface.h"
#include "nic/runtime_folder.h"

namespace lw::nic {
namespace {

struct Place {
  std::array<char, IFNAMSIZ> name{};
  std::atomic<bool> is_down{false};
};
std::array<Place, 16> places;
std::mutex changing;                          // held while the places change
const RuntimeFolder* notes_folder = nullptr;  // guarded by `changing`

void set_all_up() noexcept {
  for (const Place& place : places)
    if (place.is_down.load()) set_interface_up(place.name.data());
}

Place* place_of(const std::string& interface) noexcept {
  for (Place& place : places)
    if (place.is_down.load() && interface == place.name.data()) return &place;
  return nullptr;
}

}  // namespace

void note_set_down_in(const RuntimeFolder* folder) noexcept {
  const std::lock_guard lock(changing);
  notes_folder = folder;
}

void note_set_down(const std::string& interface, bool down) noexcept {
  const std::lock_guard lock(changing);
  if (notes_folder != nullptr) notes_folder->note_down(interface, down);
  if (Place* const place = place_of(interface)) return place->is_down.store(down);
  if (!down || interface.size() >= IFNAMSIZ) return;
  for (Place& place : places) {
    if (place.is_down.load()) continue;
    interface.copy(place.name.data(), interface.size());
    place.name[interface.size()] = 0;
    place.is_down.store(true);
    return add_last_step(set_all_up);
  }
}

}  // namespace lw::nic
