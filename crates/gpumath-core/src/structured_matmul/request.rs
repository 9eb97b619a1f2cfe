//! From what a user asks of operands to a problem.

use smallvec::SmallVec;

use super::problem::{Product, StructuredMatmulProblem};
use super::scalars::Scalars;
use crate::cpu_blas::Structure;
use crate::error::{Error, Result};
use crate::operation::{Execution, Request, alignment, check_output};
use crate::tensor::{DType, Dims, Layout, TensorView};

/// What is known of a factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Qualifier {
    /// Which elements are stored, and what the others are.
    pub structure: Structure,
    /// Whether the complex conjugates of the elements are multiplied.
    pub is_conjugated: bool,
}

/// The choices that a user makes about products; everything else follows from the operands.
#[derive(Clone, Debug, PartialEq)]
pub struct StructuredMatmulRequest {
    /// Number of products; more than one for a list of them.
    pub count: usize,
    /// What is known of `a` and `b`: once for all products, or for each; general matrices if it is
    /// empty.
    pub qualifiers: SmallVec<[[Qualifier; 2]; 1]>,
    /// The scalars of each product, where they differ. Otherwise those of an execution count.
    pub scalars: Vec<Scalars>,
    /// Whether there is a third operand.
    pub has_addend: bool,
    /// Whether the result overwrites the third operand.
    pub is_in_place: bool,
    /// What to write the results to; empty for new memory in C order.
    pub outputs: SmallVec<[TensorView; 1]>,
}

/// A product of two general matrices, to new memory.
impl Default for StructuredMatmulRequest {
    fn default() -> Self {
        Self {
            count: 1,
            qualifiers: SmallVec::new(),
            scalars: Vec::new(),
            has_addend: false,
            is_in_place: false,
            outputs: SmallVec::new(),
        }
    }
}

impl Request for StructuredMatmulRequest {
    type Problem = StructuredMatmulProblem;

    fn problem(
        &self,
        inputs: &[&TensorView],
        execution: Execution,
    ) -> Result<StructuredMatmulProblem> {
        let count = self.count;
        let operands = if self.has_addend { 3 } else { 2 };
        let first = match inputs.first() {
            Some(first) if inputs.len() == operands * count => *first,
            _ => {
                return Err(Error::InvalidValue(format!(
                    "matmul of {count} products has {} operands, but {} are given",
                    operands * count,
                    inputs.len()
                )));
            }
        };
        if self.is_in_place && !self.has_addend {
            return Err(Error::InvalidValue(
                "inplace=True overwrites c, so a c is needed; give it, or leave inplace out".into(),
            ));
        }
        for scalars in &self.scalars {
            scalars.check(first.dtype)?;
        }
        let mut products = SmallVec::new();
        for product in 0..count {
            let input = |operand: usize| inputs[operand * count + product];
            let views = [Some(input(0)), Some(input(1)), self.has_addend.then(|| input(2))];
            for (name, view) in ["a", "b", "c"].into_iter().zip(views) {
                let Some(view) = view else { continue };
                check_type(name, view, first)?;
            }
            products.push(self.product(product, input(0), input(1), views[2])?);
        }
        let mut problem = StructuredMatmulProblem {
            dtype: first.dtype,
            products,
            has_addend: self.has_addend,
            is_in_place: self.is_in_place,
            alignment: 1,
        };
        if problem.can_be_of_full_matrices() {
            let views = inputs.iter().copied().chain(&self.outputs);
            problem.alignment = alignment(views, execution.location());
        }
        Ok(problem)
    }

    fn is_about_inputs_alone(&self) -> bool {
        // In place, whether `c` overlaps another operand depends on addresses.
        self.outputs.is_empty() && !self.is_in_place
    }
}

impl StructuredMatmulRequest {
    /// Poses one product of the list.
    fn product(
        &self,
        index: usize,
        a: &TensorView,
        b: &TensorView,
        c: Option<&TensorView>,
    ) -> Result<Product> {
        let qualifiers = match self.qualifiers.as_slice() {
            [] => [Qualifier::default(); 2],
            [one] => *one,
            each => each[index],
        };
        let factors = [("a", a), ("b", b)];
        let mut matrices: SmallVec<[Layout; 4]> = SmallVec::new();
        for ((name, view), qualifier) in factors.into_iter().zip(qualifiers) {
            matrices.push(as_matrices(name, view, qualifier.structure, name == "b")?);
        }
        let [left, right] = [&matrices[0], &matrices[1]];
        let batch = (left.shape[left.ndim() - 1] == right.shape[right.ndim() - 2])
            .then(|| broadcast(&left.shape[..left.ndim() - 2], &right.shape[..right.ndim() - 2]))
            .flatten();
        let Some(batch) = batch else {
            return Err(Error::InvalidValue(format!(
                "a is of {}, and b of {}, but a needs as many columns as b has rows, and batch \
                 dimensions that are equal or 1; reshape or transpose one",
                a.describe(),
                b.describe()
            )));
        };
        let [rows, columns] = [left.shape[left.ndim() - 2], right.shape[right.ndim() - 1]];
        // A vector as a factor leaves no dimension in the result.
        let is_vector = |view: &TensorView, qualifier: Qualifier| {
            view.layout.ndim() == 1 && !qualifier.structure.is_diagonal()
        };
        let (has_rows, has_columns) = (!is_vector(a, qualifiers[0]), !is_vector(b, qualifiers[1]));
        let mut of_one = Dims::new();
        of_one.extend(has_rows.then_some(rows));
        of_one.extend(has_columns.then_some(columns));
        let batch = c.map_or(Ok(batch.clone()), |c| with_batch_of_addend(c, &batch, &of_one))?;
        let mut shape = batch.clone();
        shape.extend(of_one);
        let wanted = TensorView { layout: Layout::contiguous(&shape), ..a.clone() };
        let out = match (self.outputs.get(index), c.filter(|_| self.is_in_place)) {
            (Some(out), _) => {
                check_output(out, &wanted)?;
                check_apart("out", out, &factors)?;
                if let Some(c) = c
                    && let Some(overlap) = out.overlap(c).words()
                {
                    return Err(Error::InvalidValue(format!(
                        "out and c {overlap} in memory; give memory of its own, or use the option \
                         inplace to overwrite c"
                    )));
                }
                out.layout.clone()
            }
            (None, Some(c)) => {
                if c.layout.shape != shape || !c.layout.is_injective() || c.readonly {
                    return Err(Error::InvalidValue(format!(
                        "c is of {}, but inplace=True overwrites it with a result of the shape \
                         {:?}; give a writable array of that shape whose elements do not overlap",
                        c.describe(),
                        shape.as_slice()
                    )));
                }
                check_apart("c", c, &factors)?;
                c.layout.clone()
            }
            (None, None) => wanted.layout,
        };
        let addend = c.map_or_else(|| out.clone(), |c| c.layout.clone());
        let mut addends = with_both_axes(&addend, has_rows, has_columns);
        if addend.shape != shape {
            addends = stretched(&addends, &batch);
        }
        let matrices = [
            stretched(left, &batch),
            stretched(right, &batch),
            addends,
            with_both_axes(&out, has_rows, has_columns),
        ];
        Ok(Product {
            layouts: [a.layout.clone(), b.layout.clone(), addend, out],
            matrices,
            qualifiers,
            own_scalars: self.scalars.get(index).map(|scalars| scalars.bits()),
        })
    }
}

/// Returns `InvalidValue` unless an operand has an element type that can be multiplied, and is of
/// the same type and in the same memory as the first one.
fn check_type(name: &str, view: &TensorView, first: &TensorView) -> Result<()> {
    use DType::{Complex64, Complex128, Float32, Float64};
    if !matches!(view.dtype, Float32 | Float64 | Complex64 | Complex128) {
        return Err(Error::InvalidValue(format!(
            "{name} is of {}, but matmul takes float32, float64, complex64 and complex128; convert \
             it first",
            view.describe()
        )));
    }
    for (is_alike, cure) in [
        (view.dtype == first.dtype, "have the same type: convert one of them"),
        (view.device == first.device, "be in the same memory: copy one of them"),
    ] {
        if !is_alike {
            return Err(Error::InvalidValue(format!(
                "{name} is of {}, but a is of {}; all operands must {cure}",
                view.describe(),
                first.describe()
            )));
        }
    }
    Ok(())
}

/// Returns `InvalidValue` if what is written overlaps a factor.
fn check_apart(name: &str, written: &TensorView, factors: &[(&str, &TensorView)]) -> Result<()> {
    for (factor, view) in factors {
        if let Some(overlap) = written.overlap(view).words() {
            return Err(Error::InvalidValue(format!(
                "{name} and {factor} {overlap} in memory; give memory of its own"
            )));
        }
    }
    Ok(())
}

/// Returns a factor's layout as matrices in its last two dimensions.
fn as_matrices(
    name: &str,
    view: &TensorView,
    structure: Structure,
    is_right: bool,
) -> Result<Layout> {
    let mut layout = view.layout.clone();
    let ndim = layout.ndim();
    let refusal = |needed: &str| {
        Err(Error::InvalidValue(format!(
            "{name} is of {}, but {needed}; reshape it first",
            view.describe()
        )))
    };
    if structure.is_diagonal() {
        // The vector of the diagonal, or the vectors of a batch.
        let Some(&length) = layout.shape.last() else {
            return refusal("a diagonal matrix is given by the vector of its diagonal");
        };
        layout.shape.push(length);
        layout.strides.push(0);
        return Ok(layout);
    }
    match (structure, ndim) {
        (_, 0) => return refusal("matmul takes matrices and vectors"),
        (Structure::General, 1) => {
            let at = usize::from(is_right);
            layout.shape.insert(at, 1);
            layout.strides.insert(at, 0);
        }
        (Structure::General, _) => {}
        _ => {
            if ndim < 2 || layout.shape[ndim - 1] != layout.shape[ndim - 2] {
                return refusal(&format!("a {} matrix is square", structure.name()));
            }
        }
    }
    Ok(layout)
}

/// Returns the extents that two batches have in common, by NumPy's rules; `None` if they do not fit
/// each other.
fn broadcast(left: &[i64], right: &[i64]) -> Option<Dims> {
    let ndim = left.len().max(right.len());
    let extent = |shape: &[i64], axis: usize| {
        (axis + shape.len()).checked_sub(ndim).map_or(1, |axis| shape[axis])
    };
    (0..ndim)
        .map(|axis| match (extent(left, axis), extent(right, axis)) {
            (left, right) if left == right => Some(left),
            (1, other) | (other, 1) => Some(other),
            _ => None,
        })
        .collect()
}

/// Returns the batch of products of factors' batch and a third operand, where each result has the
/// shape `of_one`.
fn with_batch_of_addend(c: &TensorView, batch: &[i64], of_one: &[i64]) -> Result<Dims> {
    let shape = &c.layout.shape;
    let own = shape.len().checked_sub(of_one.len()).filter(|&own| shape[own..] == *of_one);
    own.and_then(|own| broadcast(batch, &shape[..own])).ok_or_else(|| {
        Error::InvalidValue(format!(
            "c is of {}, but each product has the shape {of_one:?}, and the batch {batch:?}; give \
             one c of that shape for all, or as many as there are products",
            c.describe()
        ))
    })
}

/// Returns matrices as those of a batch, with strides of 0 where one stands for all.
fn stretched(matrices: &Layout, batch: &[i64]) -> Layout {
    let own = matrices.ndim() - 2;
    let missing = batch.len() - own;
    let mut layout = Layout { shape: batch.into(), strides: Dims::from_elem(0, batch.len()) };
    for axis in (0..own).filter(|&axis| matrices.shape[axis] != 1) {
        layout.strides[missing + axis] = matrices.strides[axis];
    }
    layout.shape.extend_from_slice(&matrices.shape[own..]);
    layout.strides.extend_from_slice(&matrices.strides[own..]);
    layout
}

/// Returns a result's layout with dimensions of one row or column where it has none.
fn with_both_axes(layout: &Layout, has_rows: bool, has_columns: bool) -> Layout {
    let mut layout = layout.clone();
    if !has_columns {
        layout.shape.push(1);
        layout.strides.push(0);
    }
    if !has_rows {
        let at = layout.ndim() - 1;
        layout.shape.insert(at, 1);
        layout.strides.insert(at, 0);
    }
    layout
}
