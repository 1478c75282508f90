// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "profile/impair_profile.h"

namespace lw::profile {

/// A document as it stands, without looking ahead at what its acts bring.
Result<ImpairProfile> read_settled(Document& document);

}  // namespace lw::profile
