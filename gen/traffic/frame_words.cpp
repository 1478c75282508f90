// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/frame_words.h"

#include <fmt/format.h>

#include "roce/describe.h"

namespace lw::gen {

std::string frame_words(wire::Bytes bytes) {
  const auto frame = roce::parse(bytes);
  if (!frame) return to_string(frame.error());
  return fmt::format("{}  frame {} B", roce::describe(*frame), bytes.size());
}

}  // namespace lw::gen
