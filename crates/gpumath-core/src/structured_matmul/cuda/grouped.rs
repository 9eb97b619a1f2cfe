//! Lists of general products in one call: `cublas<S|D>gemmGroupedBatched`.
//!
//! Products that follow each other with the same extents, layouts and scalars are a group. The
//! addresses of all matrices go to device memory before the call.

use gpumath_sys::generated::cublas;
use gpumath_sys::table::Function;

use super::calls::{BlasCall, Kind};
use crate::device::StreamRef;
use crate::error::Result;
use crate::loader;
use crate::memory::copy_from_host;
use crate::status::call;
use crate::tensor::DType;

type Grouped = Function<
    unsafe extern "C" fn(
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        i64,
        usize,
    ) -> i32,
>;

/// Products for which one call takes less time than as many calls.
const WORTHWHILE: usize = 3;

/// Returns the function for lists of so many products of a type, if there is one in the library
/// that was found, and it is of use.
pub(super) fn function(dtype: DType, count: usize) -> Option<&'static Grouped> {
    let function = match dtype {
        DType::Float32 => &cublas::SGEMM_GROUPED_BATCHED_64,
        DType::Float64 => &cublas::DGEMM_GROUPED_BATCHED_64,
        _ => return None,
    };
    (count >= WORTHWHILE && loader::function(function).is_ok()).then_some(function)
}

/// The arguments of the call.
#[derive(Default)]
pub(super) struct Groups {
    transforms: [Vec<i32>; 2],
    extents: [Vec<i64>; 3],
    columns: [Vec<i64>; 3],
    /// Alpha and beta of each group, in the element type.
    scalars: [Vec<u8>; 2],
    sizes: Vec<i64>,
    /// Addresses of all left factors, right factors and results.
    addresses: [Vec<usize>; 3],
}

impl Groups {
    /// Adds a product, or a batch of products, which joins the last group if it is like that.
    pub(super) fn push(
        &mut self,
        product: &BlasCall,
        size: usize,
        addresses: [usize; 3],
        scalars: [&[u8]; 2],
    ) {
        let Kind::General(transforms) = product.kind else { return };
        let transforms = transforms.map(|transform| transform as i32);
        let mut count = 0;
        for matrices in product.matrices(size, addresses) {
            for (all, address) in self.addresses.iter_mut().zip(matrices) {
                all.push(address);
            }
            count += 1;
        }
        let last = |all: &[i64]| all.last().copied();
        let is_alike = self.transforms.each_ref().map(|all| all.last().copied())
            == transforms.map(Some)
            && self.extents.each_ref().map(|all| last(all)) == product.shape.map(Some)
            && self.columns.each_ref().map(|all| last(all)) == product.columns.map(Some)
            && self.scalars.iter().zip(scalars).all(|(all, own)| all.ends_with(own));
        if let (true, Some(size)) = (is_alike, self.sizes.last_mut()) {
            *size += count;
            return;
        }
        for index in 0..3 {
            self.extents[index].push(product.shape[index]);
            self.columns[index].push(product.columns[index]);
        }
        for index in 0..2 {
            self.transforms[index].push(transforms[index]);
            self.scalars[index].extend_from_slice(scalars[index]);
        }
        self.sizes.push(count);
    }

    /// Enqueues the products. `room` is device memory for as many addresses as there are.
    ///
    /// # Safety
    /// As for [`BlasCall::enqueue`]; nothing else uses the memory at `room` until the work is done.
    pub(super) unsafe fn enqueue(
        &self,
        function: &'static Grouped,
        handle: usize,
        room: usize,
        stream: StreamRef,
    ) -> Result<()> {
        let all: Vec<usize> = self.addresses.iter().flatten().copied().collect();
        let each = self.sizes.iter().sum::<i64>() as usize * size_of::<usize>();
        let [left, right, result] = [0, 1, 2].map(|index| room + index * each);
        let [rows, columns, depth] = self.extents.each_ref().map(|all| all.as_ptr() as usize);
        let [a_step, b_step, c_step] = self.columns.each_ref().map(|all| all.as_ptr() as usize);
        let [a_transform, b_transform] =
            self.transforms.each_ref().map(|all| all.as_ptr() as usize);
        let [alpha, beta] = self.scalars.each_ref().map(|all| all.as_ptr() as usize);
        let (count, sizes) = (self.sizes.len() as i64, self.sizes.as_ptr() as usize);
        // SAFETY: the caller guarantees that the memory is valid; the addresses are read before the
        // first call returns, and the arrays by the second one.
        unsafe {
            copy_from_host(room, all.as_ptr() as usize, size_of_val(&all[..]), stream)?;
            call!(
                *function,
                handle,
                a_transform,
                b_transform,
                rows,
                columns,
                depth,
                alpha,
                left,
                a_step,
                right,
                b_step,
                beta,
                result,
                c_step,
                count,
                sizes
            )
        }
    }
}
