// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "wire/view.h"

namespace lw::gen {

/// A RoCE frame in one line, as `roce-dissect list` shows it, and its size.
std::string frame_words(wire::Bytes frame);

}  // namespace lw::gen
