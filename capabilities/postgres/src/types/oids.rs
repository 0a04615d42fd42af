//! The numbers of types, from `src/include/catalog/pg_type.dat`. They never change.

/// The number of a type.
pub(crate) type Oid = u32;

pub(crate) const BOOL: Oid = 16;
pub(crate) const BYTEA: Oid = 17;
pub(crate) const INT8: Oid = 20;
pub(crate) const INT2: Oid = 21;
pub(crate) const INT4: Oid = 23;
pub(crate) const OID: Oid = 26;
pub(crate) const JSON: Oid = 114;
pub(crate) const FLOAT4: Oid = 700;
pub(crate) const FLOAT8: Oid = 701;
pub(crate) const DATE: Oid = 1082;
pub(crate) const TIME: Oid = 1083;
pub(crate) const TIMESTAMP: Oid = 1114;
pub(crate) const TIMESTAMPTZ: Oid = 1184;
pub(crate) const INTERVAL: Oid = 1186;
pub(crate) const TIMETZ: Oid = 1266;
pub(crate) const NUMERIC: Oid = 1700;
pub(crate) const UUID: Oid = 2950;
pub(crate) const JSONB: Oid = 3802;
const TEXT: Oid = 25;

/// Arrays, and the types of their elements.
const ARRAYS: &[(Oid, Oid)] = &[
    (143, TEXT),
    (199, JSON),
    (1000, BOOL),
    (1001, BYTEA),
    (1002, TEXT),
    (1003, TEXT),
    (1005, INT2),
    (1007, INT4),
    (1009, TEXT),
    (1014, TEXT),
    (1015, TEXT),
    (1016, INT8),
    (1021, FLOAT4),
    (1022, FLOAT8),
    (1028, OID),
    (1041, TEXT),
    (1115, TIMESTAMP),
    (1182, DATE),
    (1183, TIME),
    (1185, TIMESTAMPTZ),
    (1187, INTERVAL),
    (1231, NUMERIC),
    (1270, TIMETZ),
    (2951, UUID),
    (3807, JSONB),
];

/// Returns the type of the elements of an array; `None` for other types, and for arrays of types of the user's own.
pub(crate) fn element(array: Oid) -> Option<Oid> {
    let at = ARRAYS.binary_search_by_key(&array, |&(array, _)| array);
    at.ok().map(|at| ARRAYS[at].1)
}

/// Returns the name of a type in SQL, where messages tell it.
pub(crate) fn name(oid: Oid) -> &'static str {
    match oid {
        BOOL => "boolean",
        BYTEA => "bytea",
        INT8 => "bigint",
        INT2 => "smallint",
        INT4 => "integer",
        OID => "oid",
        JSON => "json",
        JSONB => "jsonb",
        FLOAT4 => "real",
        FLOAT8 => "double precision",
        DATE => "date",
        TIME => "time",
        TIMETZ => "time with time zone",
        TIMESTAMP => "timestamp",
        TIMESTAMPTZ => "timestamp with time zone",
        INTERVAL => "interval",
        NUMERIC => "numeric",
        UUID => "uuid",
        TEXT | 18 | 19 | 705 | 1042 | 1043 => "text",
        _ if element(oid).is_some() => "an array",
        _ => "a type of its own",
    }
}
