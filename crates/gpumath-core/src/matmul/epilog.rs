//! Epilogs: what is done with the sum of a product before it is stored.
//!
//! All of them are about the problem's own matrices, whatever their layout. With
//! `sum = alpha * a @ b + beta * c` of shape (m, n):
//!
//! | epilog | result | besides |
//! |---|---|---|
//! | `Relu` | `max(sum, 0)` | |
//! | `Gelu` | `gelu(sum)`, by its approximation with tanh | |
//! | `Bias` | `sum + bias`, where `bias` has an element a row | |
//! | `…Bias` | the function of `sum + bias` | |
//! | `ReluAux…` | as `Relu…` | bits that say where its argument is above 0 |
//! | `GeluAux…` | as `Gelu…` | its argument |
//! | `Drelu` | `sum` where the bit of `aux` is set, else 0 | |
//! | `Dgelu` | `sum * gelu'(aux)` | |
//! | `…Bgrad` | as `Drelu` or `Dgelu` | the sum of each row of the result |
//! | `Bgrada` | `sum` | the sum of each row of `a`, m of them |
//! | `Bgradb` | `sum` | the sum of each column of `b`, n of them |
//!
//! Matrices of bits and of arguments are in column-major order. A column of bits takes a multiple
//! of 16 bytes, the lowest bit of a byte first; one of arguments a multiple of 8 elements.

/// What is done with the sum of a product before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Epilog {
    /// Nothing.
    #[default]
    None,
    /// Rectifies.
    Relu,
    /// Rectifies, and tells where.
    ReluAux,
    /// Adds a bias.
    Bias,
    /// Adds a bias, then rectifies.
    ReluBias,
    /// Adds a bias, then rectifies, and tells where.
    ReluAuxBias,
    /// Applies GELU.
    Gelu,
    /// Applies GELU, and tells its argument.
    GeluAux,
    /// Adds a bias, then applies GELU.
    GeluBias,
    /// Adds a bias, then applies GELU, and tells its argument.
    GeluAuxBias,
    /// Multiplies by the derivative of RELU.
    Drelu,
    /// Multiplies by the derivative of RELU, and sums up rows.
    DreluBgrad,
    /// Multiplies by the derivative of GELU.
    Dgelu,
    /// Multiplies by the derivative of GELU, and sums up rows.
    DgeluBgrad,
    /// Sums up the rows of `a`.
    Bgrada,
    /// Sums up the columns of `b`.
    Bgradb,
}

/// The matrix that an epilog of an activation function writes, and that of its derivative reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuxKind {
    /// A bit for each element.
    ReluBits,
    /// The argument of GELU.
    GeluArgument,
}

impl Epilog {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::None,
        Self::Relu,
        Self::ReluAux,
        Self::Bias,
        Self::ReluBias,
        Self::ReluAuxBias,
        Self::Gelu,
        Self::GeluAux,
        Self::GeluBias,
        Self::GeluAuxBias,
        Self::Drelu,
        Self::DreluBgrad,
        Self::Dgelu,
        Self::DgeluBgrad,
        Self::Bgrada,
        Self::Bgradb,
    ];

    /// Returns its `cublasLtEpilogue_t`.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::None => 1,
            Self::Relu => 2,
            Self::ReluAux => 2 | 128,
            Self::Bias => 4,
            Self::ReluBias => 2 | 4,
            Self::ReluAuxBias => 2 | 4 | 128,
            Self::Gelu => 32,
            Self::GeluAux => 32 | 128,
            Self::GeluBias => 32 | 4,
            Self::GeluAuxBias => 32 | 4 | 128,
            Self::Drelu => 8 | 128,
            Self::DreluBgrad => 8 | 16 | 128,
            Self::Dgelu => 64 | 128,
            Self::DgeluBgrad => 64 | 16 | 128,
            Self::Bgrada => 256,
            Self::Bgradb => 512,
        }
    }

    /// Returns the epilog with this `cublasLtEpilogue_t`, if there is one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|epilog| epilog.code() == code)
    }

    /// Returns NVIDIA's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "DEFAULT",
            Self::Relu => "RELU",
            Self::ReluAux => "RELU_AUX",
            Self::Bias => "BIAS",
            Self::ReluBias => "RELU_BIAS",
            Self::ReluAuxBias => "RELU_AUX_BIAS",
            Self::Gelu => "GELU",
            Self::GeluAux => "GELU_AUX",
            Self::GeluBias => "GELU_BIAS",
            Self::GeluAuxBias => "GELU_AUX_BIAS",
            Self::Drelu => "DRELU",
            Self::DreluBgrad => "DRELU_BGRAD",
            Self::Dgelu => "DGELU",
            Self::DgeluBgrad => "DGELU_BGRAD",
            Self::Bgrada => "BGRADA",
            Self::Bgradb => "BGRADB",
        }
    }

    /// Whether it adds a bias.
    #[must_use]
    pub const fn has_bias(self) -> bool {
        matches!(
            self,
            Self::Bias | Self::ReluBias | Self::ReluAuxBias | Self::GeluBias | Self::GeluAuxBias
        )
    }

    /// The matrix that it reads besides, if it is the derivative of a function.
    #[must_use]
    pub const fn aux_input(self) -> Option<AuxKind> {
        match self {
            Self::Drelu | Self::DreluBgrad => Some(AuxKind::ReluBits),
            Self::Dgelu | Self::DgeluBgrad => Some(AuxKind::GeluArgument),
            _ => None,
        }
    }

    /// The matrix that it writes besides.
    #[must_use]
    pub const fn aux_output(self) -> Option<AuxKind> {
        match self {
            Self::ReluAux | Self::ReluAuxBias => Some(AuxKind::ReluBits),
            Self::GeluAux | Self::GeluAuxBias => Some(AuxKind::GeluArgument),
            _ => None,
        }
    }

    /// Whether it sums up rows or columns, and so writes a vector.
    #[must_use]
    pub const fn sums(self) -> bool {
        matches!(self, Self::DreluBgrad | Self::DgeluBgrad | Self::Bgrada | Self::Bgradb)
    }

    /// Whether it tells rows from columns, so that cuBLASLt has to see the result in column-major
    /// order. `Bgrada` and `Bgradb` become each other in the transposed product.
    #[must_use]
    pub const fn is_by_columns(self) -> bool {
        !matches!(self, Self::None | Self::Relu | Self::Gelu | Self::Bgrada | Self::Bgradb)
    }

    /// The epilog of the transposed product.
    #[must_use]
    pub const fn transposed(self) -> Self {
        match self {
            Self::Bgrada => Self::Bgradb,
            Self::Bgradb => Self::Bgrada,
            other => other,
        }
    }
}

impl AuxKind {
    /// Returns how many elements a column takes for a result of so many rows.
    #[must_use]
    pub const fn column(self, rows: i64) -> i64 {
        match self {
            Self::ReluBits => (rows as u64).div_ceil(8 * 16) as i64 * 16,
            Self::GeluArgument => (rows as u64).next_multiple_of(8) as i64,
        }
    }

    /// The name of the matrix among inputs and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReluBits => "relu_aux",
            Self::GeluArgument => "gelu_aux",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique() {
        for epilog in Epilog::ALL {
            assert_eq!(Epilog::from_code(epilog.code()), Some(epilog));
            assert_eq!(Epilog::ALL.iter().filter(|other| other.name() == epilog.name()).count(), 1);
            assert_eq!(epilog.name().contains("BIAS"), epilog.has_bias());
            assert_eq!(epilog.name().contains("BGRAD"), epilog.sums());
            let has_aux = epilog.aux_input().or(epilog.aux_output()).is_some();
            assert_eq!(epilog.code() & 128 != 0, has_aux, "{}", epilog.name());
        }
        assert_eq!(Epilog::from_code(0), None);
    }

    #[test]
    fn columns_are_padded() {
        let columns = |kind: AuxKind| [0, 1, 8, 127, 128, 129].map(|rows| kind.column(rows));
        assert_eq!(columns(AuxKind::ReluBits), [0, 16, 16, 16, 16, 32]);
        assert_eq!(columns(AuxKind::GeluArgument), [0, 8, 8, 128, 128, 136]);
    }
}
