// SPDX-License-Identifier: BSD-3-Clause
#include "upper/parser.h"

#include "upper/nvme/nvme_parser.h"
#include "upper/rpc/rpc_parser.h"
#include "upper/smb/smb_parser.h"

namespace lw::upper {

std::unique_ptr<Parser> parser_of(UpperProtocol protocol, UpperFacts& facts, CommandTable& table) {
  switch (protocol) {
    case UpperProtocol::nvme:
      return std::make_unique<nvme::NvmeParser>(facts, table);
    case UpperProtocol::nfs:
      return std::make_unique<rpc::RpcParser>(facts, table);
    case UpperProtocol::smb:
      return std::make_unique<smb::SmbParser>(facts, table);
    default:
      return nullptr;
  }
}

}  // namespace lw::upper
