// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <utility>

namespace lw::dissect {

/// Default limit of the flows that a command keeps: about 100 MB.
inline constexpr std::size_t kMostFlows = 100'000;

/// A map of at most `most` entries, 1 or more: a new entry replaces the least recently used one.
/// `Value` is a struct. Iterates in the order of the keys.
template <class Key, class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) {}
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  /// Returns the value of `key`, which is made if there is none. `leave(value)` gets the value that
  /// is removed for it.
  template <class Leave>
  Value& use(Key key, Leave leave) {
    const auto [at, is_new] = entries_.try_emplace(std::move(key));
    if (!is_new) {
      order_.splice(order_.end(), order_, at->second.place);
      return at->second;
    }
    at->second.place = order_.insert(order_.end(), at);
    if (entries_.size() > most_) {
      const auto oldest = order_.front();
      order_.pop_front();
      leave(static_cast<const Value&>(oldest->second));
      entries_.erase(oldest);
    }
    return at->second;
  }

  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Entry;
  using Entries = std::map<Key, Entry>;
  struct Entry : Value {
    typename std::list<typename Entries::iterator>::iterator place;
  };

  std::size_t most_;
  Entries entries_;
  std::list<typename Entries::iterator> order_;  // the least recently used first
};

}  // namespace lw::dissect
