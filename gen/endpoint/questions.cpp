// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/questions.h"

#include "gen/questions.h"

namespace lw::gen::endpoint {

std::span<const CommandQuestions> questions() {
  static constexpr CommandQuestions kCommands[] = {{"bw", kEndpointQuestions},
                                                   {"lat", kEndpointQuestions},
                                                   {"blast", kEndpointQuestions},
                                                   {"ping", kEndpointQuestions},
                                                   {"serve", kServeQuestions}};
  return kCommands;
}

}  // namespace lw::gen::endpoint
