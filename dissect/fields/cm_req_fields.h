// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dissect/fields/fields.h"
#include "wire/cm.h"

namespace lw::dissect {

/// infiniband.cm.req.*: what a connection request asks for. (IBTA vol. 1, 12.6.5)
void append_cm_req(FieldList& fields, const wire::CmReq& req);

}  // namespace lw::dissect
