// SPDX-License-Identifier: BSD-3-Clause
#include "upper/rpc/nfs.h"

#include <algorithm>
#include <array>
#include <span>

#include "upper/limits.h"

namespace lw::upper::rpc {
namespace {

// RFC 1813, 3.3: by procedure.
constexpr std::string_view kNfs3[] = {
    "NFSv3 NULL",     "NFSv3 GETATTR", "NFSv3 SETATTR",     "NFSv3 LOOKUP", "NFSv3 ACCESS",
    "NFSv3 READLINK", "NFSv3 READ",    "NFSv3 WRITE",       "NFSv3 CREATE", "NFSv3 MKDIR",
    "NFSv3 SYMLINK",  "NFSv3 MKNOD",   "NFSv3 REMOVE",      "NFSv3 RMDIR",  "NFSv3 RENAME",
    "NFSv3 LINK",     "NFSv3 READDIR", "NFSv3 READDIRPLUS", "NFSv3 FSSTAT", "NFSv3 FSINFO",
    "NFSv3 PATHCONF", "NFSv3 COMMIT"};
constexpr std::uint32_t kNfs3Read = 6, kNfs3Write = 7;

/// How the arguments of an operation of NFSv4 are laid out, as far as compounds are read by it.
enum class Layout : std::uint8_t {
  none,    // no arguments
  words,   // `words` words
  opaque,  // opaque data
  bitmap,  // a list of words
  read,    // state, offset, count
  write,   // state, offset, stable, data
  other,   // what follows cannot be found
};
struct Operation4 {
  std::string_view name;
  Layout layout = Layout::other;
  std::uint8_t words = 0;
  bool prepares = false;  // not what the compound is for
};
// RFC 7530, 16; RFC 8881, 18; RFC 7862, 15: by operation, from 3 on.
constexpr std::uint32_t kFirst4 = 3, kGetattr4 = 9;
constexpr Operation4 kNfs4[] = {{"NFSv4 ACCESS", Layout::words, 1},
                                {"NFSv4 CLOSE", Layout::words, 5},
                                {"NFSv4 COMMIT", Layout::words, 3},
                                {"NFSv4 CREATE"},
                                {"NFSv4 DELEGPURGE", Layout::words, 2},
                                {"NFSv4 DELEGRETURN", Layout::words, 4},
                                {"NFSv4 GETATTR", Layout::bitmap, 0, true},
                                {"NFSv4 GETFH", Layout::none, 0, true},
                                {"NFSv4 LINK", Layout::opaque},
                                {"NFSv4 LOCK"},
                                {"NFSv4 LOCKT"},
                                {"NFSv4 LOCKU"},
                                {"NFSv4 LOOKUP", Layout::opaque},
                                {"NFSv4 LOOKUPP", Layout::none},
                                {"NFSv4 NVERIFY"},
                                {"NFSv4 OPEN"},
                                {"NFSv4 OPENATTR", Layout::words, 1},
                                {"NFSv4 OPEN_CONFIRM", Layout::words, 5},
                                {"NFSv4 OPEN_DOWNGRADE", Layout::words, 7},
                                {"NFSv4 PUTFH", Layout::opaque, 0, true},
                                {"NFSv4 PUTPUBFH", Layout::none, 0, true},
                                {"NFSv4 PUTROOTFH", Layout::none, 0, true},
                                {"NFSv4 READ", Layout::read},
                                {"NFSv4 READDIR"},
                                {"NFSv4 READLINK", Layout::none},
                                {"NFSv4 REMOVE", Layout::opaque},
                                {"NFSv4 RENAME"},
                                {"NFSv4 RENEW", Layout::words, 2},
                                {"NFSv4 RESTOREFH", Layout::none, 0, true},
                                {"NFSv4 SAVEFH", Layout::none, 0, true},
                                {"NFSv4 SECINFO", Layout::opaque},
                                {"NFSv4 SETATTR"},
                                {"NFSv4 SETCLIENTID"},
                                {"NFSv4 SETCLIENTID_CONFIRM", Layout::words, 4},
                                {"NFSv4 VERIFY"},
                                {"NFSv4 WRITE", Layout::write},
                                {"NFSv4 RELEASE_LOCKOWNER"},
                                {"NFSv4 BACKCHANNEL_CTL"},
                                {"NFSv4 BIND_CONN_TO_SESSION"},
                                {"NFSv4 EXCHANGE_ID"},
                                {"NFSv4 CREATE_SESSION"},
                                {"NFSv4 DESTROY_SESSION", Layout::words, 4},
                                {"NFSv4 FREE_STATEID", Layout::words, 4},
                                {"NFSv4 GET_DIR_DELEGATION"},
                                {"NFSv4 GETDEVICEINFO"},
                                {"NFSv4 GETDEVICELIST"},
                                {"NFSv4 LAYOUTCOMMIT"},
                                {"NFSv4 LAYOUTGET"},
                                {"NFSv4 LAYOUTRETURN"},
                                {"NFSv4 SECINFO_NO_NAME", Layout::words, 1},
                                {"NFSv4 SEQUENCE", Layout::words, 8, true},
                                {"NFSv4 SET_SSV"},
                                {"NFSv4 TEST_STATEID"},
                                {"NFSv4 WANT_DELEGATION"},
                                {"NFSv4 DESTROY_CLIENTID", Layout::words, 2},
                                {"NFSv4 RECLAIM_COMPLETE", Layout::words, 1},
                                {"NFSv4 ALLOCATE", Layout::words, 8},
                                {"NFSv4 COPY"},
                                {"NFSv4 COPY_NOTIFY"},
                                {"NFSv4 DEALLOCATE", Layout::words, 8},
                                {"NFSv4 IO_ADVISE"},
                                {"NFSv4 LAYOUTERROR"},
                                {"NFSv4 LAYOUTSTATS"},
                                {"NFSv4 OFFLOAD_CANCEL", Layout::words, 4},
                                {"NFSv4 OFFLOAD_STATUS", Layout::words, 4},
                                {"NFSv4 READ_PLUS", Layout::read},
                                {"NFSv4 SEEK", Layout::words, 7},
                                {"NFSv4 WRITE_SAME"},
                                {"NFSv4 CLONE", Layout::words, 14}};

std::optional<std::uint64_t> count_of(XdrReader& xdr) noexcept {
  const std::uint32_t count = xdr.u32();
  return xdr.ok() ? std::optional<std::uint64_t>(count) : std::nullopt;
}

RpcOperation nfs3_operation(std::uint32_t procedure, Bytes arguments) noexcept {
  if (procedure >= std::size(kNfs3)) return {"NFSv3 unknown procedure"};
  RpcOperation operation{.name = kNfs3[procedure]};
  if (procedure != kNfs3Read && procedure != kNfs3Write) return operation;
  XdrReader xdr(arguments);
  xdr.opaque();  // file handle
  xdr.u64();     // offset
  operation.bytes = count_of(xdr);
  return operation;
}

/// Skips the arguments of an operation. Returns the bytes that it reads or writes, if any.
std::optional<std::uint64_t> skip_arguments(XdrReader& xdr, const Operation4& operation) noexcept {
  constexpr std::uint64_t kState = 16, kOffset = 8, kStable = 4;
  switch (operation.layout) {
    case Layout::none:
    case Layout::other:
      return std::nullopt;
    case Layout::words:
      xdr.skip(std::uint64_t{operation.words} * 4);
      return std::nullopt;
    case Layout::opaque:
      xdr.opaque();
      return std::nullopt;
    case Layout::bitmap:
      xdr.skip(std::uint64_t{xdr.u32()} * 4);
      return std::nullopt;
    case Layout::read:
      xdr.skip(kState + kOffset);
      return count_of(xdr);
    case Layout::write:
      xdr.skip(kState + kOffset + kStable);
      return count_of(xdr);
  }
  return std::nullopt;
}

/// The main operation of a compound: the first that does not only choose a file, keep state or, as
/// most compounds do beside, ask for attributes. Without one, GETATTR, or else the last operation.
RpcOperation nfs4_operation(Bytes arguments) noexcept {
  XdrReader xdr(arguments);
  xdr.opaque();  // tag
  xdr.u32();     // minor version
  const std::uint32_t count = xdr.u32();
  RpcOperation found{.name = "NFSv4 COMPOUND"};
  bool asks_attributes = false;
  for (std::uint32_t i = 0; i < std::min(count, kMostCompound) && xdr.ok(); ++i) {
    const std::uint32_t code = xdr.u32();
    if (!xdr.ok() || code < kFirst4 || code - kFirst4 >= std::size(kNfs4)) break;
    const Operation4& operation = kNfs4[code - kFirst4];
    if (!asks_attributes || !operation.prepares) found.name = operation.name;
    asks_attributes |= code == kGetattr4;
    const bool is_last = i + 1 == count;
    if (operation.prepares && is_last) return found;
    const auto bytes = skip_arguments(xdr, operation);
    if (operation.prepares) continue;
    found.bytes = bytes;
    return found;
  }
  if (!xdr.ok()) found.name = "NFSv4 COMPOUND";
  return found;
}

struct Name {
  std::uint32_t code;
  std::string_view name;
};
// RFC 1813, 2.6; RFC 7530, 13; RFC 8881, 15. The names that both versions have are NFSv4's.
constexpr Name kNfsStatus[] = {{1, "NFSERR_PERM"},
                               {2, "NFSERR_NOENT"},
                               {5, "NFSERR_IO"},
                               {6, "NFSERR_NXIO"},
                               {13, "NFSERR_ACCES"},
                               {17, "NFSERR_EXIST"},
                               {18, "NFSERR_XDEV"},
                               {19, "NFSERR_NODEV"},
                               {20, "NFSERR_NOTDIR"},
                               {21, "NFSERR_ISDIR"},
                               {22, "NFSERR_INVAL"},
                               {27, "NFSERR_FBIG"},
                               {28, "NFSERR_NOSPC"},
                               {30, "NFSERR_ROFS"},
                               {31, "NFSERR_MLINK"},
                               {63, "NFSERR_NAMETOOLONG"},
                               {66, "NFSERR_NOTEMPTY"},
                               {69, "NFSERR_DQUOT"},
                               {70, "NFSERR_STALE"},
                               {71, "NFSERR_REMOTE"},
                               {10001, "NFSERR_BADHANDLE"},
                               {10002, "NFSERR_NOT_SYNC"},
                               {10003, "NFSERR_BAD_COOKIE"},
                               {10004, "NFSERR_NOTSUPP"},
                               {10005, "NFSERR_TOOSMALL"},
                               {10006, "NFSERR_SERVERFAULT"},
                               {10007, "NFSERR_BADTYPE"},
                               {10008, "NFSERR_DELAY"},
                               {10009, "NFS4ERR_SAME"},
                               {10010, "NFS4ERR_DENIED"},
                               {10011, "NFS4ERR_EXPIRED"},
                               {10012, "NFS4ERR_LOCKED"},
                               {10013, "NFS4ERR_GRACE"},
                               {10014, "NFS4ERR_FHEXPIRED"},
                               {10015, "NFS4ERR_SHARE_DENIED"},
                               {10016, "NFS4ERR_WRONGSEC"},
                               {10017, "NFS4ERR_CLID_INUSE"},
                               {10018, "NFS4ERR_RESOURCE"},
                               {10019, "NFS4ERR_MOVED"},
                               {10020, "NFS4ERR_NOFILEHANDLE"},
                               {10021, "NFS4ERR_MINOR_VERS_MISMATCH"},
                               {10022, "NFS4ERR_STALE_CLIENTID"},
                               {10023, "NFS4ERR_STALE_STATEID"},
                               {10024, "NFS4ERR_OLD_STATEID"},
                               {10025, "NFS4ERR_BAD_STATEID"},
                               {10026, "NFS4ERR_BAD_SEQID"},
                               {10033, "NFS4ERR_NO_GRACE"},
                               {10036, "NFS4ERR_BADXDR"},
                               {10044, "NFS4ERR_OP_ILLEGAL"},
                               {10052, "NFS4ERR_BADSESSION"},
                               {10053, "NFS4ERR_BADSLOT"},
                               {10063, "NFS4ERR_SEQ_MISORDERED"},
                               {10087, "NFS4ERR_DELEG_REVOKED"}};
// RFC 5531, 9.
constexpr Name kAccept[] = {{1, "PROG_UNAVAIL"},
                            {2, "PROG_MISMATCH"},
                            {3, "PROC_UNAVAIL"},
                            {4, "GARBAGE_ARGS"},
                            {5, "SYSTEM_ERR"}};
constexpr Name kDenied[] = {{0, "RPC_MISMATCH"}, {1, "AUTH_ERROR"}};
// RFC 8166, 4.5.
constexpr Name kTransport[] = {{1, "ERR_VERS"}, {2, "ERR_CHUNK"}};

std::span<const Name> names_of(StatusKind kind) noexcept {
  switch (kind) {
    case StatusKind::nfs:
      return kNfsStatus;
    case StatusKind::rpc_accept:
      return kAccept;
    case StatusKind::rpc_denied:
      return kDenied;
    case StatusKind::transport:
      return kTransport;
  }
  return {};
}

}  // namespace

RpcOperation operation_of(const RpcHeader& header, Bytes arguments) noexcept {
  if (!header.program || !header.version || !header.procedure) return {"RPC call"};
  if (*header.program == kCallbackProgram)
    return {*header.procedure == 0 ? "NFSv4 CB_NULL" : "NFSv4 CB_COMPOUND"};
  if (*header.program != kNfsProgram) return {"RPC call of another program"};
  if (*header.version == 3) {
    RpcOperation operation = nfs3_operation(*header.procedure, arguments);
    if (header.has_privacy) operation.bytes.reset();
    return operation;
  }
  if (*header.version != 4) return {"NFSv2 call"};
  if (*header.procedure == 0) return {"NFSv4 NULL"};
  if (header.has_privacy) return {"NFSv4 COMPOUND (encrypted)"};
  if (!header.body) return {"NFSv4 COMPOUND"};
  return nfs4_operation(arguments);
}

std::string_view status_words(StatusKind kind, std::uint32_t status) noexcept {
  const std::span<const Name> names = names_of(kind);
  const auto name = std::ranges::find(names, status, &Name::code);
  return name == names.end() ? std::string_view{} : name->name;
}

}  // namespace lw::upper::rpc
