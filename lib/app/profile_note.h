// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace lw::app {

/// Prints on standard error what the name of a profile stands for: "path apn-380km: 1903.5 us, no
/// loss". `typed`: the name, of one of these kinds. Prints nothing for the path of a file.
void say_profile(const std::string& typed, std::initializer_list<std::string_view> kinds,
                 const std::string& meaning);

}  // namespace lw::app
