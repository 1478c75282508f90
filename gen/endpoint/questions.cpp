// SPDX-License-Identifier: BSD-3-Clause
#include "gen/questions.h"

#include "gen/endpoint/commands.h"

namespace lw::gen::endpoint {

std::span<const CommandQuestions> questions() {
  static constexpr CommandQuestions kCommands[] = {{"bw", kPerfQuestions},
                                                   {"lat", kPerfQuestions},
                                                   {"blast", kPerfQuestions},
                                                   {"ping", kPerfQuestions},
                                                   {"serve", kRespondQuestions}};
  return kCommands;
}

}  // namespace lw::gen::endpoint
