// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <sys/uio.h>
#include <vector>

#include "capture/record.h"

namespace lw::capture {

/// Bytes of a file in order: text of its own, and bytes of others that it refers to, so that one
/// writev() writes both without a copy. One thread.
class Gather {
 public:
  /// The text so far: append to it.
  [[nodiscard]] std::string& text() noexcept { return text_; }
  /// Adds bytes behind the text so far. They must stay as they are until clear().
  void refer(Bytes bytes) {
    if (bytes.empty()) return;
    references_.push_back({text_.size(), bytes});
    referred_ += bytes.size();
  }
  void end_record() { ends_.push_back(size()); }

  [[nodiscard]] std::size_t size() const noexcept { return text_.size() + referred_; }
  /// Where each record ends, counted from the first byte.
  [[nodiscard]] std::span<const std::size_t> ends() const noexcept { return ends_; }
  /// All bytes in order. Valid until the next change.
  std::span<iovec> pieces() {
    pieces_.clear();
    std::size_t at = 0;
    for (const Reference& reference : references_) {
      add(text_.data() + at, reference.at - at);
      add(reference.bytes.data(), reference.bytes.size());
      at = reference.at;
    }
    add(text_.data() + at, text_.size() - at);
    return pieces_;
  }
  void clear() noexcept {
    text_.clear();
    references_.clear();
    ends_.clear();
    referred_ = 0;
  }

 private:
  struct Reference {
    std::size_t at;  // in the text
    Bytes bytes;
  };
  void add(const void* from, std::size_t size) {
    if (size > 0) pieces_.push_back({const_cast<void*>(from), size});
  }

  std::string text_;
  std::vector<Reference> references_;
  std::vector<std::size_t> ends_;
  std::vector<iovec> pieces_;
  std::size_t referred_ = 0;
};

}  // namespace lw::capture
