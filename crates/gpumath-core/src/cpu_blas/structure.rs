//! What is known of a matrix beyond its elements.

/// The triangle of a matrix that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// The diagonal and what is below it.
    Lower,
    /// The diagonal and what is above it.
    Upper,
}

impl Triangle {
    /// Returns the other one, in which the transposed matrix is stored.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

/// Which elements of a square matrix are stored, and what the others are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Structure {
    /// All elements are stored. Such a matrix need not be square.
    #[default]
    General,
    /// The other triangle mirrors the stored one.
    Symmetric(Triangle),
    /// The other triangle mirrors the stored one, conjugated. Imaginary parts on the diagonal do
    /// not count.
    Hermitian(Triangle),
    /// The other triangle is zero. Nothing is read there.
    Triangular {
        /// What is stored.
        triangle: Triangle,
        /// Whether the diagonal is all ones. It is not read then.
        has_unit_diagonal: bool,
    },
    /// The matrix is given by the vector of its diagonal.
    Diagonal {
        /// Whether the vector begins with the last element of the diagonal.
        is_reversed: bool,
    },
}

impl Structure {
    /// Returns the structure of the transposed matrix.
    #[must_use]
    pub const fn transposed(self) -> Self {
        match self {
            Self::Symmetric(triangle) => Self::Symmetric(triangle.opposite()),
            Self::Hermitian(triangle) => Self::Hermitian(triangle.opposite()),
            Self::Triangular { triangle, has_unit_diagonal } => {
                Self::Triangular { triangle: triangle.opposite(), has_unit_diagonal }
            }
            Self::General | Self::Diagonal { .. } => self,
        }
    }

    /// Returns what is known of a matrix with so many rows and columns: a single number that is
    /// stored as it counts is a general matrix.
    #[must_use]
    pub const fn of_side(self, side: usize) -> Self {
        match self {
            Self::Symmetric(_)
            | Self::Triangular { has_unit_diagonal: false, .. }
            | Self::Diagonal { .. }
                if side == 1 =>
            {
                Self::General
            }
            _ => self,
        }
    }

    /// The triangle that is stored, if one is.
    #[must_use]
    pub const fn triangle(self) -> Option<Triangle> {
        match self {
            Self::Symmetric(triangle)
            | Self::Hermitian(triangle)
            | Self::Triangular { triangle, .. } => Some(triangle),
            Self::General | Self::Diagonal { .. } => None,
        }
    }

    /// Whether a vector stands for the matrix.
    #[must_use]
    pub const fn is_diagonal(self) -> bool {
        matches!(self, Self::Diagonal { .. })
    }

    /// Name of the structure in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric(_) => "symmetric",
            Self::Hermitian(_) => "Hermitian",
            Self::Triangular { .. } => "triangular",
            Self::Diagonal { .. } => "diagonal",
        }
    }
}
